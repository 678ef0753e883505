//! What each opcode computes, one file each: reference and bound together (clauses OPC-00 to OPC-18).

mod add;
mod allreduce_shard;
mod attention_combine;
mod attention_tile;
mod copy;
mod dequant;
mod dot;
mod elementwise;
mod embed;
mod gelu;
mod kv_append;
mod layernorm;
mod matrix;
mod mul;
mod quant;
mod rmsnorm;
mod rope;
mod sample_argmax;
mod silu_mul;
mod softmax;
#[cfg(test)]
mod testing;
mod view;
mod weights;

use megakernel_ir::params::Params;
use megakernel_ir::{DType, Opcode};
use smallvec::SmallVec;

use super::bounded::Bounded;
use crate::region::Region;

/// The elements of a buffer, row-major.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// Of a *float* dtype.
    Reals {
        /// The stored values.
        values: &'a [f64],
        /// How far each may lie from what an implementation has stored; nothing if all are exact.
        bounds: Option<&'a [f64]>,
    },
    /// Of another dtype: integers, 0 or 1 for BOOL, 0 to 15 for I4.
    Ints(&'a [i64]),
}

/// An input of a task: the whole buffer.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// Element type.
    pub dtype: DType,
    /// Extents of the buffer.
    pub shape: &'a [i64],
    /// Its elements.
    pub data: Data<'a>,
}

/// The output of a task.
#[derive(Clone, Copy, Debug)]
pub struct OutputView<'a> {
    /// Element type.
    pub dtype: DType,
    /// Extents of the buffer.
    pub shape: &'a [i64],
    /// What the task writes of it.
    pub region: Region,
}

/// A task, and what its operands hold when it runs.
#[derive(Clone, Debug)]
pub struct TaskView<'a> {
    /// What it computes.
    pub opcode: Opcode,
    /// Its scalars.
    pub params: &'a Params<'a>,
    /// What it reads.
    pub inputs: SmallVec<[Operand<'a>; 8]>,
    /// What it writes.
    pub output: OutputView<'a>,
    /// The unit of long sums (NUM-06): [`UNIT`](super::bounded::UNIT), or
    /// [`TRUNCATING_UNIT`](super::bounded::TRUNCATING_UNIT).
    pub unit: f64,
}

/// The elements of the written region, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum Written {
    /// Of a *float* dtype, before the cast to it.
    Reals(Vec<Bounded>),
    /// Of another dtype; nothing where the element is not specified.
    Ints(Vec<Option<i64>>),
}

/// What an opcode computes. Only called for tasks that break no S or M rule.
pub trait Kernel: Sync {
    /// The elements of the region that the task writes.
    fn run(&self, task: &TaskView<'_>) -> Written;
}

/// The kernel of an opcode; NOP has none.
pub fn kernel(opcode: Opcode) -> Option<&'static dyn Kernel> {
    Some(match opcode {
        Opcode::Nop => return None,
        Opcode::Copy => &copy::Copy,
        Opcode::Embed => &embed::Embed,
        Opcode::RmsNorm => &rmsnorm::RmsNorm,
        Opcode::LayerNorm => &layernorm::LayerNorm,
        Opcode::GemvTile | Opcode::GemmTile => &matrix::Matrix,
        Opcode::AttentionTile => &attention_tile::AttentionTile,
        Opcode::Rope => &rope::Rope,
        Opcode::SiluMul => &silu_mul::SiluMul,
        Opcode::Gelu => &gelu::Gelu,
        Opcode::Add => &add::Add,
        Opcode::Mul => &mul::Mul,
        Opcode::Dequant => &dequant::Dequant,
        Opcode::Softmax => &softmax::Softmax,
        Opcode::AllreduceShard => &allreduce_shard::AllreduceShard,
        Opcode::KvAppend => &kv_append::KvAppend,
        Opcode::SampleArgmax => &sample_argmax::SampleArgmax,
        Opcode::AttentionCombine => &attention_combine::AttentionCombine,
    })
}
