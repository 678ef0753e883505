//! `exponential-folded`: takes exp2(x c - m c) with a rounded m c instead of the exponential of a difference.

use megakernel_ir::{DType, Opcode};

use super::Fault;
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "exponential-folded",
    summary: "takes exp2(x c - m c) with a rounded m c instead of the exponential of a difference",
    opcodes: &[Opcode::AttentionTile, Opcode::Softmax, Opcode::AttentionCombine],
    outputs: &[DType::F32],
    why: "the rounded maximum moves all weights alike, and what is left of it shows in binary32 only",
    kernels: &ExponentialFolded,
};

struct ExponentialFolded;

impl Kernels for ExponentialFolded {
    fn exponential(&self, s: f64, m: f64) -> f64 {
        let log2e = std::f32::consts::LOG2_E;
        f64::from(libm::exp2f((s as f32).mul_add(log2e, -(m as f32 * log2e))))
    }
}
