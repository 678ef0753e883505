//! `gqa-by-tile`: gives query head h the cache head h modulo n_kv_heads.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;
use crate::parts::Heads;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "gqa-by-tile",
    summary: "gives query head h the cache head h modulo n_kv_heads",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &GqaByTile,
};

struct GqaByTile;

impl Kernels for GqaByTile {
    fn kv_head(&self, head: usize, heads: Heads) -> usize {
        head.checked_rem(heads.caches).unwrap_or_default()
    }
}
