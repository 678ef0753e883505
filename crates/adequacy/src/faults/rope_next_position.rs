//! `rope-next-position`: rotates by the position behind.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rope-next-position",
    summary: "rotates by the position behind",
    opcodes: &[Opcode::Rope],
    outputs: FLOATS,
    why: "",
    kernels: &RopeNextPosition,
};

struct RopeNextPosition;

impl Kernels for RopeNextPosition {
    fn rope_position(&self, positions: &[i64], s: usize, h: usize) -> i64 {
        Plain.rope_position(positions, s, h) + 1
    }
}
