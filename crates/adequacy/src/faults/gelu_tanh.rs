//! `gelu-tanh`: approximates GELU by a hyperbolic tangent.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "gelu-tanh",
    summary: "approximates GELU by a hyperbolic tangent",
    opcodes: &[Opcode::Gelu],
    outputs: FLOATS,
    why: "",
    kernels: &GeluTanh,
};

struct GeluTanh;

impl Kernels for GeluTanh {
    fn gelu(&self, x: f64) -> f64 {
        let x = x as f32;
        let inner = 0.797_884_6 * (x + 0.044715 * x * x * x);
        f64::from(0.5 * x * (1.0 + libm::tanhf(inner)))
    }
}
