//! The VM: runs a program by the semantics of `spec/execution.md`, and computes what it yields, with a bound on how far
//! another implementation may lie from it.
//!
//! It loads what the validator accepts and then trusts nothing of that verdict. It looks at no graph of the program: it has
//! counters and queues (`machine`), vector clocks that travel with the counters (`clocks`), and for each buffer who last
//! wrote and read each element (`history`). A deadlock, an access that no counter orders, a read of what nobody wrote and a
//! page that is used by two at once are found while running, and say where and why ([`Fault`]). So validator and VM check
//! each other: an accepted program has no schedule that ends in a fault. A [`Schedule`] decides what happens next, and a
//! seed draws a strange one.
//!
//! Values are held as reals with bounds (`memory`). A task computes its elements in binary64 from what its operands
//! hold ([`kernels`]), together with how far an implementation that works in binary32 may be off ([`bounded`]); stored
//! is the correctly rounded value. A [`Session`] is a row of launches that share their caches. [`Following`] judges
//! nothing either, but computes one task at a time from contents that somebody else has written.

pub mod bounded;
mod clocks;
mod fault;
pub mod files;
mod follow;
mod history;
pub mod kernels;
mod load;
mod machine;
mod memory;
mod schedule;
mod session;
pub mod steps;
pub mod sum;
#[cfg(test)]
mod testing;

pub use fault::{Access, Blocked, Fault, NoStorage, Stuck};
pub use follow::{Following, TaskOutput};
pub use load::Loaded;
pub use memory::{BindError, MOST_ELEMENTS, Reference};
pub use schedule::{Habit, Schedule, Step};
pub use session::{Finished, LaunchError, Output, Session, Settings};

use megakernel_ir::TaskId;

use machine::{Idle, Machine};

impl Loaded<'_> {
    /// Runs the program without values: only the order of things, and who may access what. Gives back the tasks in the
    /// order in which they started.
    ///
    /// # Errors
    /// The first thing that goes wrong under this schedule.
    pub fn rehearse(&self, schedule: Schedule) -> Result<Vec<TaskId>, Fault> {
        Machine::new(self, schedule).run(&mut Idle)
    }
}
