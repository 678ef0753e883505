//! `argmax-global-index`: counts the index through all rows.

use megakernel_ir::Opcode;

use super::{Fault, I32};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "argmax-global-index",
    summary: "counts the index through all rows",
    opcodes: &[Opcode::SampleArgmax],
    outputs: I32,
    why: "",
    kernels: &ArgmaxGlobalIndex,
};

struct ArgmaxGlobalIndex;

impl Kernels for ArgmaxGlobalIndex {
    fn token(&self, i: usize, r: usize, vocab: usize) -> usize {
        r * vocab + i
    }
}
