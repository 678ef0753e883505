//! `rope-theta-fixed`: uses the base 10000, whatever `theta` says.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rope-theta-fixed",
    summary: "uses the base 10000, whatever `theta` says",
    opcodes: &[Opcode::Rope],
    outputs: FLOATS,
    why: "",
    kernels: &RopeThetaFixed,
};

struct RopeThetaFixed;

impl Kernels for RopeThetaFixed {
    fn rope_frequency(&self, _: f64, i: usize, half: usize) -> f64 {
        Plain.rope_frequency(10000.0, i, half)
    }
}
