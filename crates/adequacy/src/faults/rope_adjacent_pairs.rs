//! `rope-adjacent-pairs`: pairs neighbouring elements instead of the two halves.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rope-adjacent-pairs",
    summary: "pairs neighbouring elements instead of the two halves",
    opcodes: &[Opcode::Rope],
    outputs: FLOATS,
    why: "",
    kernels: &RopeAdjacentPairs,
};

struct RopeAdjacentPairs;

impl Kernels for RopeAdjacentPairs {
    fn rope_pair(&self, i: usize, _: usize) -> (usize, usize) {
        (2 * i, 2 * i + 1)
    }
}
