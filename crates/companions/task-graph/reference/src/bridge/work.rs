//! What a task does, in terms of opcodes and of operands that are numbered through all tasks.

use std::collections::BTreeMap;

use super::order::TaskRef;
use super::tensors::Area;

/// How the opcodes of a task take an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Reads a whole buffer.
    Read,
    /// Reads columns of a buffer.
    Slice,
    /// Reads what no task writes, and the host can arrange as it is needed.
    Weight,
    /// Reads what the program does without.
    Dropped,
    /// Writes a whole buffer.
    Write,
    /// Writes columns of a buffer.
    Columns,
    /// Adds to columns of a buffer. Each becomes `Columns` of a partial sum before versions are looked for.
    Add,
    /// Sets a whole buffer to zero.
    Zero,
    /// Writes what the program does without.
    DroppedWrite,
    /// Reads and writes a cache.
    Cache,
}

impl Access {
    pub fn writes(self) -> bool {
        !matches!(self, Access::Read | Access::Slice | Access::Weight | Access::Dropped)
    }

    pub fn is_dropped(self) -> bool {
        matches!(self, Access::Dropped | Access::DroppedWrite)
    }
}

/// An operand of a task, or the part of one that an opcode needs by itself.
#[derive(Clone, Debug)]
pub(super) struct Use {
    pub task: TaskRef,
    pub area: Area,
    pub access: Access,
    /// Where it stands in the graph of its rank.
    pub pointer: String,
}

/// What a task does. The numbers are those of uses.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// Its part is done by a later task.
    Nothing,
    Embed {
        ids: usize,
        table: usize,
        out: usize,
    },
    Norm {
        x: usize,
        weight: usize,
        eps: f64,
        out: usize,
    },
    Linear {
        left: Left,
        weight: usize,
        residual: Option<usize>,
        out: usize,
    },
    SiluMul {
        gate: usize,
        up: usize,
        out: usize,
    },
    /// Attention of one token after the other.
    Attention(Vec<Attention>),
    Argmax {
        logits: usize,
        out: usize,
    },
    /// Which part has the largest element; what the parts are is known when all tasks are.
    ArgmaxReduce {
        values: usize,
        indices: usize,
        out: usize,
    },
    Sum {
        shards: Vec<usize>,
        out: usize,
    },
    Copy {
        from: usize,
        to: usize,
    },
    Add {
        left: usize,
        right: usize,
        out: usize,
    },
    Zero {
        out: usize,
    },
    Choose(Choose),
    /// The rows that a router gave to the experts of a task; which these are is known when all tasks are.
    Routed(Box<Routed>),
    /// One product for each row and expert.
    Experts(Vec<Product>),
    ExpertSum(Vec<Weighted>),
}

/// The weights of chosen experts, from their logits.
#[derive(Clone, Debug)]
pub(super) struct Choose {
    pub logits: usize,
    /// The experts of each row of the logits, best first.
    pub chosen: Vec<Vec<i64>>,
    pub weights: usize,
    /// The logits again, which are set to zero when they have been read.
    pub reset: usize,
    /// What later tasks learn of the choice: which row each expert has, and which experts have one.
    pub told: [usize; 2],
}

/// Which experts a task takes: every `stride`-th of those that have rows, from the `first` on.
#[derive(Clone, Debug)]
pub(super) struct Routed {
    pub x: Area,
    pub weight: Area,
    pub out: Area,
    /// The operands that tell the choice.
    pub told: [usize; 2],
    pub first: usize,
    pub stride: usize,
}

/// A row times a weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    pub x: usize,
    pub weight: usize,
    pub out: usize,
}

/// A row of a residual, and rows to add to it, each times an element of the weights.
#[derive(Clone, Debug)]
pub(super) struct Weighted {
    pub rows: Vec<usize>,
    pub weights: usize,
    pub residual: usize,
    pub out: usize,
}

/// What a linear layer multiplies with its weight.
#[derive(Clone, Copy, Debug)]
pub(super) enum Left {
    Plain(usize),
    Norm { x: usize, weight: usize, eps: f64 },
    SiluMul { gate: usize, up: usize },
}

/// Attention of one token over a cache, to which it is appended.
#[derive(Clone, Debug)]
pub(super) struct Attention {
    pub query: usize,
    pub key: usize,
    pub value: usize,
    /// The caches of keys and of values, page by page; one page unless the cache has several.
    pub pages: Vec<[usize; 2]>,
    /// The row of the batch and its position, or nothing where the import is told of one position.
    pub row: Option<(i64, i64)>,
    pub query_norm: Option<usize>,
    pub key_norm: Option<usize>,
    pub eps: f64,
    /// Base of the frequencies, where heads are rotated.
    pub theta: Option<f64>,
    pub scale: f64,
    pub heads: i64,
    pub kv_heads: i64,
    pub head_dim: i64,
    /// Rows of a page.
    pub length: i64,
    pub out: usize,
}

/// A partial maximum: the uses of its three operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partial {
    pub logits: usize,
    pub value: usize,
    pub index: usize,
}

/// All tasks from 2 on.
#[derive(Default)]
pub(super) struct Plan {
    pub tasks: Vec<(TaskRef, Work)>,
    pub uses: Vec<Use>,
    pub partials: Vec<Partial>,
    /// Of a use that reads a sum: the uses of the parts that are added to it, in the order in which they are.
    pub sums: BTreeMap<usize, Vec<usize>>,
}
