//! What a task does, in terms of opcodes and of operands that are numbered through all tasks.

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
    /// Writes what the program does without.
    DroppedWrite,
    /// Reads and writes a cache.
    Cache,
}

impl Access {
    pub fn writes(self) -> bool {
        matches!(self, Access::Write | Access::Columns | Access::DroppedWrite | Access::Cache)
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
    Attention(Box<Attention>),
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
    pub key_cache: usize,
    pub value_cache: usize,
    pub query_norm: Option<usize>,
    pub key_norm: Option<usize>,
    pub eps: f64,
    /// Base of the frequencies, where heads are rotated.
    pub theta: Option<f64>,
    pub scale: f64,
    pub heads: i64,
    pub kv_heads: i64,
    pub head_dim: i64,
    /// Rows of the cache.
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
}
