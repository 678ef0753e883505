//! `silu-without-gate`: multiplies up by the sigmoid of gate only.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "silu-without-gate",
    summary: "multiplies up by the sigmoid of gate only",
    opcodes: &[Opcode::SiluMul],
    outputs: FLOATS,
    why: "",
    kernels: &SiluWithoutGate,
};

struct SiluWithoutGate;

impl Kernels for SiluWithoutGate {
    fn silu(&self, x: f64) -> f64 {
        self.div(1.0, self.add(1.0, self.exp(-x)))
    }
}
