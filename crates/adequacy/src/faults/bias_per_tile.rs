//! `bias-per-tile`: adds the bias once for every tile of K.

use megakernel_ir::DType;

use super::{Fault, FLOATS, MATRIX};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "bias-per-tile",
    summary: "adds the bias once for every tile of K",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &BiasPerTile,
};

struct BiasPerTile;

impl Kernels for BiasPerTile {
    fn with_bias(&self, product: f64, bias: f64, tiles: usize, _: DType) -> f64 {
        self.add(product, self.mul(bias, tiles as f64))
    }
}
