//! `layer-unbiased`: divides the squared deviations by one less than their number.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "layer-unbiased",
    summary: "divides the squared deviations by one less than their number",
    opcodes: &[Opcode::LayerNorm],
    outputs: FLOATS,
    why: "",
    kernels: &LayerUnbiased,
};

struct LayerUnbiased;

impl Kernels for LayerUnbiased {
    fn variance(&self, run: &[f32], mean: f64) -> f64 {
        self.div(self.mul(Plain.variance(run, mean), run.len() as f64), run.len() as f64 - 1.0)
    }
}
