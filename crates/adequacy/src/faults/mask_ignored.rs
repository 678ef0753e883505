//! `mask-ignored`: ignores the mask of attention.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "mask-ignored",
    summary: "ignores the mask of attention",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &MaskIgnored,
};

struct MaskIgnored;

impl Kernels for MaskIgnored {
    fn masked(&self, score: f64, _: f64, _: f64) -> f64 {
        score
    }
    fn keeps(&self, _: bool) -> bool {
        true
    }
}
