//! `rope-position-per-head`: goes to the next position with every head.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rope-position-per-head",
    summary: "goes to the next position with every head",
    opcodes: &[Opcode::Rope],
    outputs: FLOATS,
    why: "",
    kernels: &RopePositionPerHead,
};

struct RopePositionPerHead;

impl Kernels for RopePositionPerHead {
    fn rope_position(&self, positions: &[i64], s: usize, h: usize) -> i64 {
        Plain.rope_position(positions, s, h) + h as i64
    }
}
