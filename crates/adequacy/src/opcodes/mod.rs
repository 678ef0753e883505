//! One file for each opcode: which elements meet which, written from the pages of `spec/opcodes`. What is done with
//! them is a step of [`Kernels`].

mod add;
mod allreduce_shard;
mod attention_combine;
mod attention_tile;
mod copy;
mod dequant;
mod embed;
mod gelu;
mod gemm_tile;
mod gemv_tile;
mod kv_append;
mod layernorm;
mod mul;
mod quantised;
mod rmsnorm;
mod rope;
mod sample_argmax;
mod silu_mul;
mod softmax;

use megakernel_ir::params::Params;
use megakernel_ir::{DType, Opcode, Param};

use crate::kernels::Kernels;
use crate::memory::{Broken, Buffer, Result, Writer, broken};

/// A task whose operands are at hand.
pub struct Task<'a> {
    /// What it computes.
    pub op: Opcode,
    /// With these parameters.
    pub params: &'a Params<'a>,
    /// Its operands.
    pub inputs: Vec<Buffer>,
    /// Element type of its output.
    pub dtype: DType,
    /// Extents of its output.
    pub shape: Vec<usize>,
}

impl Task<'_> {
    /// Operand `index`.
    fn input(&self, index: usize) -> Result<&Buffer> {
        self.inputs.get(index).ok_or_else(|| Broken(format!("task has no input {index}")))
    }

    /// The elements of float operand `index`.
    fn reals(&self, index: usize) -> Result<&[f32]> {
        self.input(index)?.reals()
    }

    /// An integer parameter that is not negative.
    fn size(&self, param: Param) -> Result<usize> {
        match self.params.int(param).map(usize::try_from) {
            Some(Ok(value)) => Ok(value),
            Some(Err(_)) => Err(Broken(format!("parameter `{}` is negative", param.name()))),
            None => Err(Broken(format!("parameter `{}` is missing", param.name()))),
        }
    }

    /// The same, 0 where it is absent.
    fn size_or_zero(&self, param: Param) -> Result<usize> {
        if self.params.int(param).is_some() { self.size(param) } else { Ok(0) }
    }

    /// A real parameter: the binary32 nearest to the number in the document.
    fn real(&self, param: Param) -> Result<f64> {
        match self.params.real(param) {
            Some(value) => Ok(f64::from(value as f32)),
            None => Err(Broken(format!("parameter `{}` is missing", param.name()))),
        }
    }

    /// Number of elements of the output.
    fn numel(&self) -> usize {
        self.shape.iter().product()
    }
}

/// `len` elements of `slice` from `start` on.
fn part<T>(slice: &[T], start: usize, len: usize) -> Result<&[T]> {
    match start.checked_add(len).and_then(|end| slice.get(start..end)) {
        Some(part) => Ok(part),
        None => Err(Broken(format!(
            "elements {start} to {start}+{len} lie outside an operand of {}",
            slice.len()
        ))),
    }
}

/// `a / b`, for counts of rows.
fn divide(a: usize, b: usize) -> Result<usize> {
    if b == 0 || !a.is_multiple_of(b) {
        return Err(Broken(format!("{a} elements do not fall into rows of {b}")));
    }
    Ok(a / b)
}

/// Executes a task.
///
/// # Errors
/// The task breaks a rule of class S or M.
pub fn execute(kernels: &dyn Kernels, task: &mut Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let (op, output) = (task.op, task.dtype);
    for input in &mut task.inputs {
        let Ok(reals) = input.reals() else { continue };
        if let Some(loaded) = kernels.load(op, input.dtype, output, reals) {
            input.elements = crate::memory::Elements::Reals(loaded.into());
        }
    }
    match op {
        Opcode::Nop => Ok(()),
        Opcode::Copy => copy::run(kernels, task, writer),
        Opcode::Embed => embed::run(kernels, task, writer),
        Opcode::RmsNorm => rmsnorm::run(kernels, task, writer),
        Opcode::LayerNorm => layernorm::run(kernels, task, writer),
        Opcode::GemvTile => gemv_tile::run(kernels, task, writer),
        Opcode::GemmTile => gemm_tile::run(kernels, task, writer),
        Opcode::AttentionTile => attention_tile::run(kernels, task, writer),
        Opcode::Rope => rope::run(kernels, task, writer),
        Opcode::SiluMul => silu_mul::run(kernels, task, writer),
        Opcode::Gelu => gelu::run(kernels, task, writer),
        Opcode::Add => add::run(kernels, task, writer),
        Opcode::Mul => mul::run(kernels, task, writer),
        Opcode::Dequant => dequant::run(kernels, task, writer),
        Opcode::Softmax => softmax::run(kernels, task, writer),
        Opcode::AllreduceShard => allreduce_shard::run(kernels, task, writer),
        Opcode::KvAppend => kv_append::run(kernels, task, writer),
        Opcode::SampleArgmax => sample_argmax::run(kernels, task, writer),
        Opcode::AttentionCombine => attention_combine::run(kernels, task, writer),
    }
}

/// One value after the other, each from the elements at its own place.
fn elementwise(
    kernels: &dyn Kernels,
    task: &Task<'_>,
    writer: &mut Writer<'_>,
    value: impl Fn(usize) -> Result<f64>,
) -> Result<()> {
    for place in 0..kernels.elements(task.numel()) {
        writer.real(place, value(place)?);
    }
    Ok(())
}

/// Element `place` of an operand, as a held value.
fn at(elements: &[f32], place: usize) -> Result<f64> {
    match elements.get(place) {
        Some(&element) => Ok(f64::from(element)),
        None => broken("operand is smaller than the output"),
    }
}
