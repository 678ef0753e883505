//! `exponential-constant`: takes 1.4427 for the logarithm of e to base 2.

use megakernel_ir::{DType, Opcode};

use super::Fault;
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "exponential-constant",
    summary: "takes 1.4427 for the logarithm of e to base 2",
    opcodes: &[Opcode::AttentionTile, Opcode::SiluMul, Opcode::Softmax, Opcode::AttentionCombine],
    outputs: &[DType::F32],
    why: "the digits that are missing show in binary32, and in others by chance",
    kernels: &ExponentialConstant,
};

struct ExponentialConstant;

/// The logarithm of e to base 2, cut off after four digits.
const CUT: f32 = 14_427.0 / 10_000.0;

impl Kernels for ExponentialConstant {
    fn exp(&self, x: f64) -> f64 {
        f64::from(libm::exp2f(x as f32 * CUT))
    }
}
