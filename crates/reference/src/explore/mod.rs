//! The explorer: every interleaving of a small program, judged by the semantics of `spec/execution.md` alone.
//!
//! It is the counterweight to [`crate::validate`] and shares no code with it beyond the footprints of the opcodes, which
//! are the specification's. The validator looks at a document and concludes; the explorer runs it. It has a machine of
//! its own, whose steps are the starts and finishes of clause EXE-01, and clocks of its own: for every task that has
//! started, the set of tasks that it acquired from (EXE-03). Nothing here looks at a dependency graph.
//!
//! There are two machines. [`explore`] enumerates the states of a program of at most [`MAX_TASKS`] tasks in bit sets,
//! fast enough for millions of programs. [`Machine`] takes a program of any size through one given run and says in words
//! what happens; [`replay()`] uses it to turn a diagnostic's witness into a run that ends badly.
//!
//! # What counts as a fault
//!
//! Accesses have no steps of their own here. A task accesses its footprint at any moment between its start and its
//! finish, and one that has started is never kept from finishing; so whether an access *can* meet another is decided
//! by starts and finishes alone, and every fault is found at the start of the later of the tasks involved. A fault comes in
//! two strengths. It **shows** if some run leads to it though the queues do keep their order. It is **latent** if only
//! the clocks tell: no counter orders the tasks, and no run can bring them together, because queues keep them apart. Latent
//! faults are the placement dependence that clause EXE-11 refuses.

mod compact;
mod faults;
mod footprint;
mod machine;
mod memory;
mod replay;
mod search;
mod storage;
#[cfg(test)]
mod tests;

pub use compact::{Compact, MAX_CELLS, MAX_TASKS, TooLarge};
pub use faults::{FaultKind, Faults, Strength};
pub use machine::{Blocked, Fault, Machine, Status};
pub use replay::{MAX_REPLAYED, NotReplayed, Outcome, Replay, replay};
pub use search::{Explorer, Run};

use megakernel_ir::model::Program;

/// Explores every interleaving of a program that breaks no S rule, and gives back the faults that it found.
///
/// # Errors
/// The program is larger than the bit sets.
pub fn explore(program: &Program<'_>) -> Result<Faults, TooLarge> {
    Ok(Explorer::new().explore(&Compact::new(program)?))
}
