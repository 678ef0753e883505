//! `exponential-base-2`: takes powers of 2 instead of e.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "exponential-base-2",
    summary: "takes powers of 2 instead of e",
    opcodes: &[Opcode::AttentionTile, Opcode::SiluMul, Opcode::Softmax, Opcode::AttentionCombine],
    outputs: FLOATS,
    why: "",
    kernels: &ExponentialBase2,
};

struct ExponentialBase2;

impl Kernels for ExponentialBase2 {
    fn exp(&self, x: f64) -> f64 {
        f64::from(libm::exp2f(x as f32))
    }
}
