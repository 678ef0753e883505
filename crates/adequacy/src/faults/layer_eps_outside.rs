//! `layer-eps-outside`: adds eps outside the root.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "layer-eps-outside",
    summary: "adds eps outside the root",
    opcodes: &[Opcode::LayerNorm],
    outputs: FLOATS,
    why: "",
    kernels: &LayerEpsOutside,
};

struct LayerEpsOutside;

impl Kernels for LayerEpsOutside {
    fn normalised(&self, deviation: f64, variance: f64, eps: f64) -> f64 {
        self.div(deviation, self.add(self.root(variance), eps))
    }
}
