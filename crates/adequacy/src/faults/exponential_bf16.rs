//! `exponential-bf16`: rounds exponentials to bfloat16.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS, round};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "exponential-bf16",
    summary: "rounds exponentials to bfloat16",
    opcodes: &[Opcode::AttentionTile, Opcode::SiluMul, Opcode::Softmax, Opcode::AttentionCombine],
    outputs: FLOATS,
    why: "",
    kernels: &ExponentialBf16,
};

struct ExponentialBf16;

impl Kernels for ExponentialBf16 {
    fn exp(&self, x: f64) -> f64 {
        round(DType::BF16, Plain.exp(x))
    }
}
