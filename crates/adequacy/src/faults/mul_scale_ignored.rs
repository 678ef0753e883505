//! `mul-scale-ignored`: does not multiply a single operand by `scale`.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "mul-scale-ignored",
    summary: "does not multiply a single operand by `scale`",
    opcodes: &[Opcode::Mul],
    outputs: FLOATS,
    why: "",
    kernels: &MulScaleIgnored,
};

struct MulScaleIgnored;

impl Kernels for MulScaleIgnored {
    fn scaled(&self, a: f64, _: f64) -> f64 {
        a
    }
}
