//! `cache-of-first-sequence`: attends to the cache of the first sequence only.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "cache-of-first-sequence",
    summary: "attends to the cache of the first sequence only",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &CacheOfFirstSequence,
};

struct CacheOfFirstSequence;

impl Kernels for CacheOfFirstSequence {
    fn cache_of(&self, _: usize, _: usize) -> usize {
        0
    }
}
