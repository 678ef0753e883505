//! What the steps of [`Kernels`](crate::kernels::Kernels) are about.

use std::ops::Range;

use megakernel_ir::model::{self, Program};
use megakernel_ir::params::{ParamValue, Params};
use megakernel_ir::{DType, Opcode, Param};

use crate::memory::Buffer;

/// Which sum is being made: a reduction that is wrong need not be wrong everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// Over K in GEMV_TILE and GEMM_TILE.
    Matrix,
    /// Over `head_dim`, for the score of a query and a key.
    Scores,
    /// Over the window, for one element of the attended value.
    Values,
    /// The denominator of a softmax.
    Denominator,
    /// The squares of RMSNORM.
    Squares,
    /// The mean of LAYERNORM.
    Mean,
    /// The squared deviations of LAYERNORM.
    Variance,
    /// Over shards.
    Shards,
    /// Over the partials of ATTENTION_COMBINE.
    Partials,
}

impl Site {
    /// Whether tensor cores may make this sum (clause NUM-06).
    pub const fn on_tensor_cores(self) -> bool {
        matches!(self, Site::Matrix | Site::Scores | Site::Values)
    }
}

/// A piece of a dot product: which elements of the left operand meet which of the right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Elements of x.
    pub x: Range<usize>,
    /// Elements of the weight's row.
    pub w: Range<usize>,
}

/// Columns of K that a tile takes.
pub const TILE: usize = 64;

/// The tiles of a row of `k` columns, the last one perhaps short.
pub fn tiles(k: usize) -> Vec<Tile> {
    (0..k.div_ceil(TILE))
        .map(|tile| tile * TILE..((tile + 1) * TILE).min(k))
        .map(|columns| Tile { x: columns.clone(), w: columns })
        .collect()
}

/// A quantised row, and what turns it into weights.
#[derive(Clone, Copy, Debug)]
pub struct QuantisedRow<'a> {
    /// The integer of each column.
    pub q: &'a [f32],
    /// The scale of each group.
    pub scales: &'a [f32],
    /// The zero point of each group, if there are any.
    pub zeros: Option<&'a [f32]>,
    /// Columns of a group.
    pub group: usize,
}

/// What attention over a window yields for one head.
#[derive(Clone, Debug, PartialEq)]
pub struct Attended {
    /// The sum of the values, weighted and not normalised.
    pub a: Vec<f64>,
    /// The largest score.
    pub m: f64,
    /// The sum of the weights.
    pub l: f64,
}

/// The scores of one head, and the values that they weigh.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// One score for each row that is not masked out.
    pub scores: &'a [f32],
    /// The values of those rows, element after element of the head: `columns[d * scores.len() + j]`.
    pub columns: &'a [f32],
    /// Elements of the head.
    pub head_dim: usize,
}

impl<'a> Window<'a> {
    /// Element `d` of the value of every row.
    pub fn column(&self, d: usize) -> &'a [f32] {
        let rows = self.scores.len();
        self.columns.get(d * rows..(d + 1) * rows).unwrap_or_default()
    }
}

/// What LAYERNORM subtracts, and what it divides by.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// The mean of the run.
    pub mean: f64,
    /// The variance of the run.
    pub variance: f64,
    /// What is added to it.
    pub eps: f64,
}

/// Where a query head looks.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    /// Query heads.
    pub queries: usize,
    /// Heads of the cache.
    pub caches: usize,
}

/// An operand that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// What its task computes.
    pub op: Opcode,
    /// Its place among the inputs.
    pub index: usize,
    /// Its element type.
    pub dtype: DType,
}

/// A task with what it is given, before it computes.
pub struct Given<'p, 'g> {
    /// The program.
    pub program: &'g Program<'p>,
    /// The task.
    pub task: &'g model::Task<'p>,
    /// Contents of its operands.
    pub inputs: &'g mut Vec<Buffer>,
    /// Its parameters.
    pub params: &'g mut Params<'p>,
}

impl<'p> Given<'p, '_> {
    /// The buffer of operand `index`.
    pub fn buffer(&self, index: usize) -> Option<&model::Buffer<'p>> {
        self.program.buffers.get(usize::try_from(*self.task.inputs.get(index)?).ok()?)
    }

    /// The buffer that it writes.
    pub fn output(&self) -> Option<&model::Buffer<'p>> {
        self.program.buffers.get(usize::try_from(*self.task.outputs.first()?).ok()?)
    }

    /// Whether operand `index` is the buffer that is written.
    pub fn is_in_place(&self, index: usize) -> bool {
        self.task.inputs.get(index) == self.task.outputs.first()
    }

    /// Whether operand `index` is another buffer on the page of the one that is written.
    pub fn is_on_its_page(&self, index: usize) -> bool {
        let pages = self.program.pages.as_ref().map(|pages| &pages.buffer_to_page);
        let page = |id: Option<&i64>| {
            let id = id?;
            pages?.0.iter().find(|(buffer, _)| buffer == id).map(|(_, page)| *page)
        };
        let page_of_output = page(self.task.outputs.first());
        !self.is_in_place(index)
            && page_of_output.is_some()
            && page(self.task.inputs.get(index)) == page_of_output
    }

    /// Changes the elements of a float operand: `change` gets places and elements.
    pub fn change(&mut self, index: usize, change: impl Fn(usize, f32) -> f32) {
        if let Some(buffer) = self.inputs.get_mut(index) {
            buffer.change(change);
        }
    }

    /// An integer parameter.
    pub fn int(&self, param: Param) -> Option<i64> {
        self.params.int(param)
    }

    /// A number that the document writes without fraction and exponent.
    pub fn is_written_whole(&self, param: Param) -> bool {
        self.params.int(param).is_some()
    }

    /// Sets a parameter to another number.
    pub fn set(&mut self, param: Param, value: f64) {
        for (key, given) in &mut self.params.0 {
            if *key == megakernel_ir::params::ParamKey::Known(param) {
                *given = ParamValue::Number(megakernel_ir::params::Number::Float(value));
            }
        }
    }
}

/// What ACTIVATION and IO_OUTPUT hold before a launch writes them: it is undefined (clause EXE-08).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwritten {
    /// Zeros.
    Zeros,
    /// NaN, and integers at the end of their range.
    Garbage,
    /// What the buffer in this place held at the end of the launch before.
    Last,
}

/// How the host binds buffers, and what it carries from launch to launch. All but one are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// As clause CON-11 says.
    Right,
    /// WEIGHT and CONST by name.
    ByName,
    /// CONST by name.
    ConstByName,
    /// Each tensor to the first buffer that asks for it; the others hold zeros.
    Once,
    /// WEIGHT and CONST from the files of the first launch.
    FirstWeights,
    /// IO_INPUT from the files of the first launch.
    FirstInputs,
    /// The program of the first launch, each time.
    FirstProgram,
    /// A cache is that of the launch before whose buffer had the same id.
    CachesById,
    /// The nth cache is the nth of the launch before.
    CachesInOrder,
    /// A cache from the files of each launch that has a tensor for it.
    CachesBoundAgain,
    /// A cache that a launch does not list is forgotten.
    UnlistedDropped,
    /// No cache has contents from the host.
    CachesUnbound,
    /// A cache that a later launch is the first to list has contents from the host.
    LateCachesBound,
    /// Buffers of one name are one buffer.
    OneForAName,
    /// What these operands of these opcodes are, from the files of the first launch.
    FirstOperand(&'static [(Opcode, usize)]),
    /// By the first bytes of names and sources, so many.
    Cut(usize),
    /// Every buffer by `source`.
    AllBySource,
    /// WEIGHT and CONST with an empty `source` by name.
    EmptySourceByName,
    /// A cache that no task of a launch writes is forgotten.
    CachesUnwrittenForgotten,
    /// Caches carry zeros in place of NaN.
    CachesWithoutNan,
    /// Caches carry zeros in place of subnormal numbers of binary32.
    CachesWithoutSubnormals,
    /// Caches are cleared before every launch from this on.
    CachesFrom(usize),
    /// Activations outside of HBM that have no page share one place.
    OneArena,
    /// An activation outside of HBM is cleared by each task that writes it.
    ClearedByWriters,
}
