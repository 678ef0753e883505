//! The opcodes, one file each: operands, dtypes, shapes, bounds and footprint (clauses OPC-00 to OPC-18).

mod add;
mod allreduce_shard;
mod attention_combine;
mod attention_tile;
mod cache;
mod checks;
mod copy;
mod dequant;
mod elementwise;
mod embed;
mod gelu;
mod gemm_tile;
mod gemv_tile;
mod kv_append;
mod layernorm;
mod matrix;
mod mul;
mod nop;
mod quant;
mod rmsnorm;
mod rope;
mod sample_argmax;
mod silu_mul;
mod softmax;
#[cfg(test)]
pub(crate) mod testing;

use std::ops::RangeInclusive;

use megakernel_ir::model::{Buffer, Program, Task};
use megakernel_ir::{Opcode, Param, Rule};
use smallvec::SmallVec;

use crate::region::Region;

/// The buffers of a task. Holds as many as the task lists; their number is the opcode's (rule S11) once the
/// structure of the program has been accepted, and only then may the functions of [`Op`] other than `arity`,
/// `required_params` and `param_ranges` be called.
pub struct Operands<'p> {
    /// The task.
    pub task: &'p Task<'p>,
    /// What it reads.
    pub inputs: SmallVec<[&'p Buffer<'p>; 8]>,
    /// What it writes.
    pub outputs: SmallVec<[&'p Buffer<'p>; 4]>,
}

impl<'p> Operands<'p> {
    /// The operands of a task whose references hold; a dangling one is left out.
    pub fn new(program: &'p Program<'p>, task: &'p Task<'p>) -> Operands<'p> {
        let buffer = |&id: &i64| usize::try_from(id).ok().and_then(|id| program.buffers.get(id));
        Operands {
            task,
            inputs: task.inputs.iter().filter_map(buffer).collect(),
            outputs: task.outputs.iter().filter_map(buffer).collect(),
        }
    }

    /// An integer parameter, or its default.
    pub fn int(&self, param: Param, default: i64) -> i64 {
        self.task.params.int(param).unwrap_or(default)
    }
}

/// Where in a task a problem lies; it becomes the JSON pointer of the diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// An entry of `inputs`.
    Input(usize),
    /// An entry of `outputs`.
    Output(usize),
    /// A member of `params`.
    Param(Param),
}

/// A broken rule of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// S15, or a rule of class M.
    pub rule: Rule,
    /// Where it shows.
    pub place: Place,
    /// What was found and what is required.
    pub message: String,
}

/// Collects the problems of a task.
pub type Problems = Vec<Problem>;

/// How many operands a task of an opcode has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arity {
    /// Number of inputs.
    pub inputs: RangeInclusive<usize>,
    /// Number of outputs.
    pub outputs: usize,
}

/// Whether a task may list one buffer both as input and as output (clause EXE-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// No: the operation would read elements that it has overwritten.
    Forbidden,
    /// Yes: each element of the output depends on the same element of the input alone.
    Allowed,
    /// The output has to be this input (KV_APPEND).
    Required,
}

/// What the rules need to know about an opcode. All sizes are in elements.
pub trait Op: Sync {
    /// Number of operands; may depend on `params` (quantised weights).
    fn arity(&self, task: &Task<'_>) -> Arity;

    /// The parameters that rule S13 demands.
    fn required_params(&self, task: &Task<'_>) -> SmallVec<[Param; 8]>;

    /// Rule S15 beyond the ranges that hold for every opcode.
    fn param_ranges(&self, _task: &Task<'_>, _problems: &mut Problems) {}

    /// Rule M01.
    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems);

    /// Rule M08's condition on the dtype of a quantised operand, which leaves the footprint as it is; called where M01 holds.
    fn storage(&self, _operands: &Operands<'_>, _problems: &mut Problems) {}

    /// Rules M02 and M08, but for [`Op::storage`]: the shape conditions of clause EXE-04.
    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems);

    /// Rules M03 and M04; called where `shapes` found nothing.
    fn bounds(&self, _operands: &Operands<'_>, _problems: &mut Problems) {}

    /// Whether the task reads the input at all, whatever its shape.
    fn accesses(&self, _input: usize) -> bool {
        true
    }

    /// What the task reads of an input, cut to the buffer; nothing for an operand that is only written.
    /// Called where `shapes` found nothing; elsewhere every operand counts whole.
    fn reads(&self, operands: &Operands<'_>, input: usize) -> Option<Region> {
        operands.inputs.get(input).map(|buffer| Region::of(buffer))
    }

    /// What the task writes of an output, likewise.
    fn writes(&self, operands: &Operands<'_>, output: usize) -> Option<Region> {
        operands.outputs.get(output).map(|buffer| Region::of(buffer))
    }

    /// Whether the output may be the same buffer as this input.
    fn in_place(&self, _input: usize) -> InPlace {
        InPlace::Forbidden
    }
}

/// What is known of an opcode.
pub fn op(opcode: Opcode) -> &'static dyn Op {
    match opcode {
        Opcode::Nop => &nop::Nop,
        Opcode::Copy => &copy::Copy,
        Opcode::Embed => &embed::Embed,
        Opcode::RmsNorm => &rmsnorm::RmsNorm,
        Opcode::LayerNorm => &layernorm::LayerNorm,
        Opcode::GemvTile => &gemv_tile::GemvTile,
        Opcode::GemmTile => &gemm_tile::GemmTile,
        Opcode::AttentionTile => &attention_tile::AttentionTile,
        Opcode::Rope => &rope::Rope,
        Opcode::SiluMul => &silu_mul::OP,
        Opcode::Gelu => &gelu::OP,
        Opcode::Add => &add::OP,
        Opcode::Mul => &mul::OP,
        Opcode::Dequant => &dequant::Dequant,
        Opcode::Softmax => &softmax::Softmax,
        Opcode::AllreduceShard => &allreduce_shard::OP,
        Opcode::KvAppend => &kv_append::KvAppend,
        Opcode::SampleArgmax => &sample_argmax::SampleArgmax,
        Opcode::AttentionCombine => &attention_combine::AttentionCombine,
    }
}
