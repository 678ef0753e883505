//! `rope-first-position`: rotates every row by the first position.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rope-first-position",
    summary: "rotates every row by the first position",
    opcodes: &[Opcode::Rope],
    outputs: FLOATS,
    why: "",
    kernels: &RopeFirstPosition,
};

struct RopeFirstPosition;

impl Kernels for RopeFirstPosition {
    fn rope_position(&self, positions: &[i64], _: usize, h: usize) -> i64 {
        Plain.rope_position(positions, 0, h)
    }
}
