//! `combine-tail-swapped`: reads the denominator of a partial as its maximum, and the other way round.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "combine-tail-swapped",
    summary: "reads the denominator of a partial as its maximum, and the other way round",
    opcodes: &[Opcode::AttentionCombine],
    outputs: FLOATS,
    why: "",
    kernels: &CombineTailSwapped,
};

struct CombineTailSwapped;

impl Kernels for CombineTailSwapped {
    fn partial_tail(&self, first: f64, second: f64) -> (f64, f64) {
        (second, first)
    }
}
