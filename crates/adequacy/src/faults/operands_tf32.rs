//! `operands-tf32`: rounds binary32 operands of a product to 11 significant bits.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS, TENSOR_CORES};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "operands-tf32",
    summary: "rounds binary32 operands of a product to 11 significant bits",
    opcodes: TENSOR_CORES,
    outputs: FLOATS,
    why: "",
    kernels: &OperandsTf32,
};

struct OperandsTf32;

impl Kernels for OperandsTf32 {
    fn load(&self, op: Opcode, dtype: DType, _: DType, elements: &[f32]) -> Option<Vec<f32>> {
        let tf32 = |x: &f32| f32::from_bits((x.to_bits() + 0x1000) & !0x1fff);
        (TENSOR_CORES.contains(&op) && dtype == DType::F32).then(|| elements.iter().map(tf32).collect())
    }
}
