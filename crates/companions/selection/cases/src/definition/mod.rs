//! A second selector, written from the definitions alone: everything about a region is computed from its ops each time it
//! is asked for, with no state but the extents themselves. It shares the model of the documents with the reference, and
//! nothing else. What cases expect comes from here; and at certain places it can be told to go wrong, which makes the
//! faulty implementations that the cases have to reject.

mod beam;
mod fault;
mod kernel;
mod matrix;
mod table;
mod walk;

use megakernel_selection::{Index, Machine, Op, Request};

pub use beam::best;
pub use fault::{Fault, Kind};
pub use matrix::{Fold, Matrix, fold};
pub use table::Table;
pub use walk::{Attempt, Region, Stuck, explanation, plan, regions};

/// What is asked, and what goes wrong.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The ops.
    pub ops: &'a [Op],
    /// The kernels.
    pub index: &'a Index,
    /// What costs are for.
    pub machine: Option<&'a Machine>,
    /// Most ops of a region.
    pub limit: usize,
    /// How many states.
    pub beam: usize,
    /// What goes wrong, if anything.
    pub fault: Option<Fault>,
    /// Where candidates are kept; without it they are found anew each time.
    pub table: Option<&'a Table>,
}

impl<'a> Question<'a> {
    /// The question of a request.
    pub fn of(request: &'a Request) -> Question<'a> {
        let size = |number: i64| usize::try_from(number).unwrap_or(1);
        Question {
            ops: &request.sequence.ops,
            index: &request.index,
            machine: request.options.machine.as_ref(),
            limit: size(request.options.limit),
            beam: size(request.options.beam),
            fault: None,
            table: None,
        }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }
}
