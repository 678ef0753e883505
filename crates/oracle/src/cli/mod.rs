//! The commands for people.

pub mod bridge;
mod excerpt;
pub mod replay;
pub mod replay_task_graph;
pub mod run;
pub mod translate;
pub mod validate;
pub mod validate_task_graph;
