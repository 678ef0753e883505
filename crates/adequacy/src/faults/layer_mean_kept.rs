//! `layer-mean-kept`: takes the mean square instead of the variance.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "layer-mean-kept",
    summary: "takes the mean square instead of the variance",
    opcodes: &[Opcode::LayerNorm],
    outputs: FLOATS,
    why: "",
    kernels: &LayerMeanKept,
};

struct LayerMeanKept;

impl Kernels for LayerMeanKept {
    fn variance(&self, run: &[f32], _: f64) -> f64 {
        self.mean_square(run)
    }
}
