//! Documents that passes answer, looked at and run with any kind of numbers (clauses MCI-07 to MCI-12).

mod block;
pub(crate) mod compute;
pub(crate) mod run;
pub mod uses;
pub mod valid;

pub use run::{Counted, run};
