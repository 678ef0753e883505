//! The explorer of task graphs: every interleaving of a small system, judged by the semantics of the companion's
//! `execution.md` alone.
//!
//! It is the counterweight to the validator and shares no code with it, not even footprints: those of a task are read
//! off the document once more, element by element. The validator looks for paths in a graph; the explorer runs tasks. Nothing
//! here follows an edge: a task can start when a count has been reached, and what comes before what is told from the runs in
//! which it does not.
//!
//! [`Explorer`] visits the states of a system of at most [`MAX_INSTANCES`] tasks, over two iterations, in bit sets.
//! [`Machine`] takes a system of any size through one given run; [`replay()`] uses it to turn a diagnostic into a run
//! that ends badly.
//!
//! # What counts as a fault
//!
//! Workers are any number, and hold any of the tasks: so any two tasks that can both start can run side by side. Queues matter to
//! deadlock alone, and there the worst placement is one worker a rank: a task that is stuck in some placement is stuck in this
//! one, since all lower ids come before it.
//!
//! | fault | found when |
//! | --- | --- |
//! | deadlock | nothing can start, and a task or an iteration has not ended; with queues out of the way, or for one worker a rank only |
//! | lost task | all ranks have ended an iteration, and a task of it has not finished |
//! | race | two tasks run side by side, access the same elements, and one of them writes |
//! | dead write | a write comes after another in every run, and no task reads any of the shared elements in between |

mod compact;
mod faults;
mod footprint;
mod machine;
mod replay;
mod search;
mod setup;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod thorough;

pub use compact::{Compact, ITERATIONS, Instances, MAX_INSTANCES, TooLarge};
pub use faults::Faults;
pub use footprint::{Shape, Spans};
pub use machine::{Blocked, Instance, Machine, Step};
pub use replay::{NotReplayed, Outcome, Replay, replay};
pub use search::Explorer;
pub use setup::{Access, Setup, Waiting, Work};
