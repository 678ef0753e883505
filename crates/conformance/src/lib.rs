//! Cases, generator, runner, judging, reports.
//!
//! The crate knows implementations only as worker processes ([`megakernel_ir::protocol`]); it has no way to ask the
//! reference for a verdict.

pub mod builder;
pub mod case;
pub mod edit;
pub mod evidence;
pub mod execution;
pub mod families;
pub mod generate;
pub mod judge;
pub mod oracle;
pub mod prng;
pub mod report;
pub mod run;
pub mod store;
pub mod task_graph;
pub mod terminal;
mod text;
pub mod worker;
