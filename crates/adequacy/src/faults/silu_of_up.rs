//! `silu-of-up`: applies SILU to up and multiplies by gate.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "silu-of-up",
    summary: "applies SILU to up and multiplies by gate",
    opcodes: &[Opcode::SiluMul],
    outputs: FLOATS,
    why: "",
    kernels: &SiluOfUp,
};

struct SiluOfUp;

impl Kernels for SiluOfUp {
    fn silu_mul(&self, gate: f64, up: f64, output: DType) -> f64 {
        Plain.silu_mul(up, gate, output)
    }
}
