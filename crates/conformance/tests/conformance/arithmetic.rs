//! A VM that adds, multiplies and takes the largest, over whole buffers of one shape: enough for tests of the runner.
//! It is the worker's side of them and the oracle's.

use std::collections::BTreeMap;

use megakernel_ir::model::Program;
use megakernel_ir::{BufferKind, Opcode};
use megakernel_numerics::Tensor;

/// The contents of every buffer, as bound, or zeros.
pub fn memory(program: &Program<'_>, bound: &BTreeMap<String, Tensor>) -> Vec<Tensor> {
    let contents = |buffer: &megakernel_ir::model::Buffer<'_>| {
        let shape: Vec<u64> = buffer.shape.iter().map(|&extent| extent.unsigned_abs()).collect();
        let name: &str = match (buffer.kind, &buffer.source) {
            (BufferKind::Weight, Some(source)) => source,
            _ => &buffer.name,
        };
        bound
            .get(name)
            .cloned()
            .unwrap_or_else(|| Tensor::zeros(buffer.dtype, shape).expect("a small tensor"))
    };
    program.buffers.iter().map(contents).collect()
}

/// What a task computes, not rounded, and the buffer that it writes.
pub fn values(program: &Program<'_>, memory: &[Tensor], task: usize) -> Option<(usize, Vec<f64>)> {
    let task = program.tasks.get(task)?;
    let input = |n: usize| memory[task.inputs[n] as usize].reals();
    let output = *task.outputs.first()? as usize;
    let pairs = || input(0).into_iter().zip(input(1));
    let values = match task.op {
        Opcode::Add => pairs().map(|(a, b)| a + b).collect(),
        Opcode::Mul => pairs().map(|(a, b)| a * b).collect(),
        Opcode::SampleArgmax => {
            let largest = input(0).into_iter().enumerate().reduce(|a, b| if b.1 > a.1 { b } else { a });
            vec![largest.map_or(0.0, |(index, _)| index as f64)]
        }
        _ => return None,
    };
    Some((output, values))
}

/// A tensor like `like` with other elements.
pub fn tensor(like: &Tensor, values: &[f64]) -> Tensor {
    let made = if like.dtype.is_float() {
        Tensor::from_reals(like.dtype, like.shape.clone(), values)
    } else {
        let ints: Vec<i64> = values.iter().map(|&value| value as i64).collect();
        Tensor::from_ints(like.dtype, like.shape.clone(), &ints)
    };
    made.expect("as many values as before")
}
