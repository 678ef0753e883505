//! `layer-moments-difference`: takes the variance as mean of squares less square of mean.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "layer-moments-difference",
    summary: "takes the variance as mean of squares less square of mean",
    opcodes: &[Opcode::LayerNorm],
    outputs: FLOATS,
    why: "",
    kernels: &LayerMomentsDifference,
};

struct LayerMomentsDifference;

impl Kernels for LayerMomentsDifference {
    fn variance(&self, run: &[f32], mean: f64) -> f64 {
        let difference = self.sub(self.mean_square(run), self.mul(mean, mean));
        difference.max(0.0)
    }
}
