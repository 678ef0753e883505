//! `layer-weight-missing`: does not multiply by the weight.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "layer-weight-missing",
    summary: "does not multiply by the weight",
    opcodes: &[Opcode::LayerNorm],
    outputs: FLOATS,
    why: "",
    kernels: &LayerWeightMissing,
};

struct LayerWeightMissing;

impl Kernels for LayerWeightMissing {
    fn layer_element(&self, normalised: f64, _: f64, b: Option<f64>, output: DType) -> f64 {
        Plain.layer_element(normalised, 1.0, b, output)
    }
}
