//! What the reference is asked for: values and bounds, never a verdict.
//!
//! A case declares what is accepted and what is rejected, and has the values that its outputs are judged by. What each task of a
//! trace should write depends on what the implementation wrote before, so an oracle is asked: a process of its own
//! ([`ProcessOracle`]), since this crate does not depend on the reference.

use std::collections::BTreeMap;
use std::fmt;

use megakernel_ir::model::Program;
use megakernel_ir::protocol::Accumulator;
use megakernel_numerics::Tensor;

mod process;

pub use process::{LOST, ProcessOracle, TIMEOUT};

/// What a buffer or a part of one holds after a correct execution, element by element, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// Of a float buffer.
    Reals {
        /// The references: the clause's value in real numbers, not rounded to the dtype (clause NUM-08).
        values: Vec<f64>,
        /// How far from it what is cast to the dtype may lie; infinite: not specified.
        bounds: Vec<f64>,
    },
    /// Of an integer or BOOL buffer.
    Ints(Vec<i64>),
}

impl Expected {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Expected::Reals { values, .. } => values.len(),
            Expected::Ints(values) => values.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

pub use megakernel_ir::protocol::oracle::OPEN;

/// What a task writes; integers that are not specified are [`OPEN`].
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The buffer: an index into the program's.
    pub buffer: usize,
    /// The box of its write footprint, one half-open interval an axis.
    pub region: Vec<(u64, u64)>,
    /// The elements of the box.
    pub expected: Expected,
}

impl Written {
    /// The shape of the box.
    pub fn shape(&self) -> Vec<u64> {
        self.region.iter().map(|(low, high)| high.saturating_sub(*low)).collect()
    }
}

/// Why an oracle has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// It is at fault itself, so that nothing can be judged by it.
    Faulty(String),
    /// Its process was killed. A worker can do that to it, so it is no reason to end a run.
    Killed(String),
    /// Its process is silent, although one had said hello before: a worker may have stopped it.
    Silent(String),
    /// The run was asked to stop.
    Stopped,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoAnswer::Faulty(cause) | NoAnswer::Killed(cause) | NoAnswer::Silent(cause) => f.write_str(cause),
            NoAnswer::Stopped => f.write_str("the run was asked to stop"),
        }
    }
}

impl From<String> for NoAnswer {
    fn from(cause: String) -> NoAnswer {
        NoAnswer::Faulty(cause)
    }
}

/// Says what tasks should write.
pub trait Oracle: Sync {
    /// Begins to follow one launch of an implementation, task by task. `document` is the text of `program`. `tensors` bind its
    /// buffers: WEIGHT and CONST by `source`, else by `name`; IO_INPUT by `name`. `caches` has every KV_CACHE, by `name`, that does
    /// not begin with zeros, whichever launch it is.
    ///
    /// # Errors
    /// The program breaks a rule, a buffer is not bound as it should be, or the oracle is lost.
    fn follow<'a>(
        &'a self,
        document: &str,
        program: &'a Program<'a>,
        tensors: &BTreeMap<String, Tensor>,
        caches: &BTreeMap<String, Tensor>,
        accumulator: Accumulator,
    ) -> Result<Box<dyn Follow + 'a>, NoAnswer>;
}

/// A launch that is followed: its memory holds what the *implementation* wrote, so that each task is judged on the
/// inputs that it really had, and bounds do not grow with the depth of the program.
pub trait Follow {
    /// The ids of all tasks, each after those that it depends on.
    fn order(&self) -> Vec<usize>;

    /// What a task should write, from what memory holds now; nothing for a task that writes nothing.
    ///
    /// # Errors
    /// There is no such task, or the oracle is lost.
    fn task(&mut self, task: usize) -> Result<Option<Written>, NoAnswer>;

    /// Puts what the implementation says that the task wrote into memory: the elements of its box, row-major.
    ///
    /// # Errors
    /// The task writes nothing, or a box of another shape or dtype; or the oracle is lost.
    fn store(&mut self, task: usize, written: &Tensor) -> Result<(), NoAnswer>;

    /// What a buffer holds now.
    ///
    /// # Errors
    /// There is no such buffer, or the oracle is lost.
    fn buffer(&self, buffer: usize) -> Result<Tensor, NoAnswer>;
}
