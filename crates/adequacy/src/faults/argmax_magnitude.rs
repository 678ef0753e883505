//! `argmax-magnitude`: takes the logit of largest magnitude.

use megakernel_ir::Opcode;

use super::{Fault, I32};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "argmax-magnitude",
    summary: "takes the logit of largest magnitude",
    opcodes: &[Opcode::SampleArgmax],
    outputs: I32,
    why: "",
    kernels: &ArgmaxMagnitude,
};

struct ArgmaxMagnitude;

impl Kernels for ArgmaxMagnitude {
    fn better(&self, logit: f32, best: f32) -> bool {
        logit.abs() > best.abs()
    }
}
