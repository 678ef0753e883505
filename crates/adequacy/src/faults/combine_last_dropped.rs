//! `combine-last-dropped`: leaves out the last partial.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "combine-last-dropped",
    summary: "leaves out the last partial",
    opcodes: &[Opcode::AttentionCombine],
    outputs: FLOATS,
    why: "",
    kernels: &CombineLastDropped,
};

struct CombineLastDropped;

impl Kernels for CombineLastDropped {
    fn partials(&self, n: usize) -> usize {
        n - 1
    }
}
