//! `argmax-last-tie`: takes the last of equal logits.

use megakernel_ir::Opcode;

use super::{Fault, I32};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "argmax-last-tie",
    summary: "takes the last of equal logits",
    opcodes: &[Opcode::SampleArgmax],
    outputs: I32,
    why: "",
    kernels: &ArgmaxLastTie,
};

struct ArgmaxLastTie;

impl Kernels for ArgmaxLastTie {
    fn better(&self, logit: f32, best: f32) -> bool {
        logit >= best
    }
}
