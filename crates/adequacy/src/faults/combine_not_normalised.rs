//! `combine-not-normalised`: does not divide the merged accumulator.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "combine-not-normalised",
    summary: "does not divide the merged accumulator",
    opcodes: &[Opcode::AttentionCombine],
    outputs: FLOATS,
    why: "",
    kernels: &CombineNotNormalised,
};

struct CombineNotNormalised;

impl Kernels for CombineNotNormalised {
    fn merged(&self, a: f64, _: f64) -> f64 {
        a
    }
}
