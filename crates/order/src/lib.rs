//! What the validators of programs and of task graphs share: the order that counters or events impose on tasks, and the
//! findings about a document.
//!
//! A task increments one counter, or triggers one event, and waits on some: [`edges`] takes that down, [`graph`] makes dense
//! arrays of it, [`happens_before`] answers whether one task comes before another, and [`cycles`] finds what never comes.
//! Nothing here knows what tasks do. What is ordered has a `TaskId` and what orders it a `CounterId`: tasks and counters of a program,
//! tasks and events of a task graph, phases of a schedule.

pub mod cycles;
pub mod edges;
pub mod findings;
pub mod graph;
pub mod happens_before;
pub mod parallel;
#[cfg(test)]
mod testing;
pub mod verdict;

pub use edges::{Edges, Lists};
pub use findings::{Findings, KEPT_PER_RULE};
pub use graph::{Graph, Order};
pub use happens_before::HappensBefore;
pub use parallel::Threads;
pub use verdict::Verdict;
