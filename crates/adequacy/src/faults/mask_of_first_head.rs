//! `mask-of-first-head`: uses the mask of the first head for all heads.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "mask-of-first-head",
    summary: "uses the mask of the first head for all heads",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &MaskOfFirstHead,
};

struct MaskOfFirstHead;

impl Kernels for MaskOfFirstHead {
    fn mask_row(&self, _: usize) -> usize {
        0
    }
}
