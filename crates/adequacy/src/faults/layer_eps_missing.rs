//! `layer-eps-missing`: leaves out eps.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "layer-eps-missing",
    summary: "leaves out eps",
    opcodes: &[Opcode::LayerNorm],
    outputs: FLOATS,
    why: "",
    kernels: &LayerEpsMissing,
};

struct LayerEpsMissing;

impl Kernels for LayerEpsMissing {
    fn normalised(&self, deviation: f64, variance: f64, _: f64) -> f64 {
        Plain.normalised(deviation, variance, 0.0)
    }
}
