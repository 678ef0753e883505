//! `rope-sign`: rotates in the other direction.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rope-sign",
    summary: "rotates in the other direction",
    opcodes: &[Opcode::Rope],
    outputs: FLOATS,
    why: "",
    kernels: &RopeSign,
};

struct RopeSign;

impl Kernels for RopeSign {
    fn rotate(&self, a: f64, b: f64, sin: f64, cos: f64) -> (f64, f64) {
        Plain.rotate(a, b, -sin, cos)
    }
}
