//! `bias-dropped`: leaves out the bias of a product.

use megakernel_ir::DType;

use super::{Fault, FLOATS, MATRIX};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "bias-dropped",
    summary: "leaves out the bias of a product",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &BiasDropped,
};

struct BiasDropped;

impl Kernels for BiasDropped {
    fn with_bias(&self, product: f64, _: f64, _: usize, _: DType) -> f64 {
        product
    }
}
