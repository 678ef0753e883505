//! `argmax-signed-zero`: takes +0 for larger than -0.

use megakernel_ir::Opcode;

use super::{Fault, I32};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "argmax-signed-zero",
    summary: "takes +0 for larger than -0",
    opcodes: &[Opcode::SampleArgmax],
    outputs: I32,
    why: "",
    kernels: &ArgmaxSignedZero,
};

struct ArgmaxSignedZero;

impl Kernels for ArgmaxSignedZero {
    fn better(&self, logit: f32, best: f32) -> bool {
        logit.total_cmp(&best).is_gt()
    }
}
