//! `softmax-without-maximum`: does not subtract the maximum before the exponential.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "softmax-without-maximum",
    summary: "does not subtract the maximum before the exponential",
    opcodes: &[Opcode::AttentionTile, Opcode::Softmax, Opcode::AttentionCombine],
    outputs: FLOATS,
    why: "",
    kernels: &SoftmaxWithoutMaximum,
};

struct SoftmaxWithoutMaximum;

impl Kernels for SoftmaxWithoutMaximum {
    fn exponential(&self, s: f64, _: f64) -> f64 {
        self.exp(s)
    }
}
