//! `mask-inverted`: leaves out the rows that a BOOL mask keeps.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "mask-inverted",
    summary: "leaves out the rows that a BOOL mask keeps",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &MaskInverted,
};

struct MaskInverted;

impl Kernels for MaskInverted {
    fn keeps(&self, mask: bool) -> bool {
        !mask
    }
}
