//! `gelu-sigmoid`: approximates GELU by x sigmoid(1.702 x).

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "gelu-sigmoid",
    summary: "approximates GELU by x sigmoid(1.702 x)",
    opcodes: &[Opcode::Gelu],
    outputs: FLOATS,
    why: "",
    kernels: &GeluSigmoid,
};

struct GeluSigmoid;

impl Kernels for GeluSigmoid {
    fn gelu(&self, x: f64) -> f64 {
        let x = x as f32;
        f64::from(x / (1.0 + libm::expf(-1.702 * x)))
    }
}
