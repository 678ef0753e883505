//! `gqa-first-head`: gives every query head the first cache head.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;
use crate::parts::Heads;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "gqa-first-head",
    summary: "gives every query head the first cache head",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &GqaFirstHead,
};

struct GqaFirstHead;

impl Kernels for GqaFirstHead {
    fn kv_head(&self, _: usize, _: Heads) -> usize {
        0
    }
}
