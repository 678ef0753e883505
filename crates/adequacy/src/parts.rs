//! What the steps of [`Kernels`](crate::kernels::Kernels) are about.

use std::ops::Range;

use megakernel_ir::{DType, Opcode};

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
}
