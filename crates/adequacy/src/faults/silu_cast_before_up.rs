//! `silu-cast-before-up`: rounds the activation to the output's dtype before it multiplies by up.

use megakernel_ir::{DType, Opcode};

use super::{Fault, NARROW, round};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "silu-cast-before-up",
    summary: "rounds the activation to the output's dtype before it multiplies by up",
    opcodes: &[Opcode::SiluMul],
    outputs: NARROW,
    why: "a value held in binary32 is an F32 already",
    kernels: &SiluCastBeforeUp,
};

struct SiluCastBeforeUp;

impl Kernels for SiluCastBeforeUp {
    fn silu_mul(&self, gate: f64, up: f64, output: DType) -> f64 {
        self.mul(round(output, self.silu(gate)), up)
    }
}
