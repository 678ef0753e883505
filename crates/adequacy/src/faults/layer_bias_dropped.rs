//! `layer-bias-dropped`: leaves out the bias of a norm.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "layer-bias-dropped",
    summary: "leaves out the bias of a norm",
    opcodes: &[Opcode::LayerNorm],
    outputs: FLOATS,
    why: "",
    kernels: &LayerBiasDropped,
};

struct LayerBiasDropped;

impl Kernels for LayerBiasDropped {
    fn layer_element(&self, normalised: f64, w: f64, _: Option<f64>, _: DType) -> f64 {
        self.mul(normalised, w)
    }
}
