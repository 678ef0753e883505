//! `rope-exponent`: divides the exponent by head_dim instead of its half.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rope-exponent",
    summary: "divides the exponent by head_dim instead of its half",
    opcodes: &[Opcode::Rope],
    outputs: FLOATS,
    why: "",
    kernels: &RopeExponent,
};

struct RopeExponent;

impl Kernels for RopeExponent {
    fn rope_frequency(&self, theta: f64, i: usize, half: usize) -> f64 {
        Plain.rope_frequency(theta, i, 2 * half)
    }
}
