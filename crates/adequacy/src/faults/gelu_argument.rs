//! `gelu-argument`: does not divide the argument of erf by sqrt(2).

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "gelu-argument",
    summary: "does not divide the argument of erf by sqrt(2)",
    opcodes: &[Opcode::Gelu],
    outputs: FLOATS,
    why: "",
    kernels: &GeluArgument,
};

struct GeluArgument;

impl Kernels for GeluArgument {
    fn gelu(&self, x: f64) -> f64 {
        self.mul(self.mul(0.5, x), self.add(1.0, self.erf(x)))
    }
}
