//! The runner: cases, worker processes, judging, reports, evidence.
//!
//! The crate knows implementations only as worker processes ([`megakernel_ir::protocol`]); it has no way to ask the
//! reference for a verdict.

pub mod case;
pub mod checkers;
mod companions;
pub mod compare;
pub mod evidence;
pub mod execution;
mod folder;
pub mod html;
pub mod judge;
pub mod junit;
pub mod known;
pub mod oracle;
pub mod report;
pub mod run;
pub mod spec;
pub mod statement;
pub mod stop;
pub mod store;
pub mod terminal;
mod text;
pub mod worker;
