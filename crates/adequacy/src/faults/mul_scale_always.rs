//! `mul-scale-always`: multiplies two operands by `scale` as well.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "mul-scale-always",
    summary: "multiplies two operands by `scale` as well",
    opcodes: &[Opcode::Mul],
    outputs: FLOATS,
    why: "",
    kernels: &MulScaleAlways,
};

struct MulScaleAlways;

impl Kernels for MulScaleAlways {
    fn product_of_two(&self, a: f64, b: f64, scale: Option<f64>) -> f64 {
        self.mul(self.mul(a, b), scale.unwrap_or(1.0))
    }
}
