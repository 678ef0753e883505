//! `softmax-nan-lost`: passes over a NaN among the scores.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "softmax-nan-lost",
    summary: "passes over a NaN among the scores",
    opcodes: &[Opcode::AttentionTile, Opcode::Softmax, Opcode::AttentionCombine],
    outputs: FLOATS,
    why: "",
    kernels: &SoftmaxNanLost,
};

struct SoftmaxNanLost;

impl Kernels for SoftmaxNanLost {
    fn exponential(&self, s: f64, m: f64) -> f64 {
        if s.is_nan() { 0.0 } else { Plain.exponential(s, m) }
    }
    fn maximum(&self, numbers: &[f32]) -> f64 {
        f64::from(numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max))
    }
}
