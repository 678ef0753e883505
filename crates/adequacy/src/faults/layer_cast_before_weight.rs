//! `layer-cast-before-weight`: rounds the normalised element to the output's dtype before it multiplies by the weight.

use megakernel_ir::{DType, Opcode};

use super::{Fault, NARROW, round};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "layer-cast-before-weight",
    summary: "rounds the normalised element to the output's dtype before it multiplies by the weight",
    opcodes: &[Opcode::LayerNorm],
    outputs: NARROW,
    why: "a value held in binary32 is an F32 already",
    kernels: &LayerCastBeforeWeight,
};

struct LayerCastBeforeWeight;

impl Kernels for LayerCastBeforeWeight {
    fn layer_element(&self, normalised: f64, w: f64, b: Option<f64>, output: DType) -> f64 {
        Plain.layer_element(round(output, normalised), w, b, output)
    }
}
