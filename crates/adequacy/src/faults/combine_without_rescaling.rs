//! `combine-without-rescaling`: adds up partials without rescaling them to the common maximum.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "combine-without-rescaling",
    summary: "adds up partials without rescaling them to the common maximum",
    opcodes: &[Opcode::AttentionCombine],
    outputs: FLOATS,
    why: "",
    kernels: &CombineWithoutRescaling,
};

struct CombineWithoutRescaling;

impl Kernels for CombineWithoutRescaling {
    fn partial_weight(&self, _: f64, l_p: f64, _: f64) -> f64 {
        if l_p > 0.0 { 1.0 } else { 0.0 }
    }
}
