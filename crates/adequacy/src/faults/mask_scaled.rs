//! `mask-scaled`: adds a float mask before scaling.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "mask-scaled",
    summary: "adds a float mask before scaling",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &MaskScaled,
};

struct MaskScaled;

impl Kernels for MaskScaled {
    fn masked(&self, score: f64, mask: f64, scale: f64) -> f64 {
        self.add(score, self.mul(mask, scale))
    }
}
