//! `silu-without-up`: does not multiply by up.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "silu-without-up",
    summary: "does not multiply by up",
    opcodes: &[Opcode::SiluMul],
    outputs: FLOATS,
    why: "",
    kernels: &SiluWithoutUp,
};

struct SiluWithoutUp;

impl Kernels for SiluWithoutUp {
    fn silu_mul(&self, gate: f64, _: f64, _: DType) -> f64 {
        self.silu(gate)
    }
}
