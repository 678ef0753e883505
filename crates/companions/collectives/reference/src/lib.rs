//! The reference of the companion on collective algorithms: the rules, deadlock and the least capacity, contributions and bits
//! as trees of additions, and the simulator (`spec/companions/collectives`).

pub mod algorithms;
pub mod analysis;
pub mod answer;
pub mod bridge;
mod commands;
mod contributions;
mod covers;
pub mod expand;
pub mod import;
pub mod launch;
pub mod messages;
pub mod network;
pub mod program;
pub mod results;
pub mod run;
pub mod serve;
pub mod simulate;
mod structure;
pub mod trees;

pub use answer::{Answered, Method, answer};
pub use commands::COMPANION;
