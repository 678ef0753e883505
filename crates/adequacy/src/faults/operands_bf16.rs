//! `operands-bf16`: rounds the operands of a product to bfloat16.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS, TENSOR_CORES, round};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "operands-bf16",
    summary: "rounds the operands of a product to bfloat16",
    opcodes: TENSOR_CORES,
    outputs: FLOATS,
    why: "",
    kernels: &OperandsBf16,
};

struct OperandsBf16;

impl Kernels for OperandsBf16 {
    fn load(&self, op: Opcode, _: DType, _: DType, elements: &[f32]) -> Option<Vec<f32>> {
        let bf16 = |&x: &f32| round(DType::BF16, f64::from(x)) as f32;
        TENSOR_CORES.contains(&op).then(|| elements.iter().map(bf16).collect())
    }
}
