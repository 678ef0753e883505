//! Differential fuzzing: documents that no family of the corpus has, what the reference says of them, and what an implementation
//! does with them.
//!
//! The implementation is a worker process, played and judged by the runner as it plays and judges cases: a document becomes a case
//! whose answer the [`Reference`] declares. What differs is shrunk, and written as a case of a corpus. The crate does not know the
//! reference; whoever calls it brings one.

mod bases;
mod coverage;
mod difference;
mod draw;
mod edit;
mod extents;
mod features;
mod findings;
mod fuzz;
mod player;
mod reference;
mod sample;
mod shrink;
mod smaller;
mod values;
mod vary;

pub use bases::Bases;
pub use coverage::Coverage;
pub use difference::Difference;
pub use findings::{Finding, Findings};
pub use fuzz::{Fuzz, Options, Outcome, Progress};
pub use player::Player;
pub use reference::{Reference, Says};
pub use sample::{Sample, Tensors};
