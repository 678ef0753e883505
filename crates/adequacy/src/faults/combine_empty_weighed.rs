//! `combine-empty-weighed`: weighs a partial whose denominator is 0 like any other.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "combine-empty-weighed",
    summary: "weighs a partial whose denominator is 0 like any other",
    opcodes: &[Opcode::AttentionCombine],
    outputs: FLOATS,
    why: "",
    kernels: &CombineEmptyWeighed,
};

struct CombineEmptyWeighed;

impl Kernels for CombineEmptyWeighed {
    fn partial_weight(&self, m_p: f64, _: f64, m: f64) -> f64 {
        self.exponential(m_p, m)
    }
    fn merged(&self, a: f64, l: f64) -> f64 {
        self.div(a, l)
    }
}
