//! `argmax-last-missed`: does not look at the last logit.

use std::ops::Range;

use megakernel_ir::Opcode;

use super::{Fault, I32};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "argmax-last-missed",
    summary: "does not look at the last logit",
    opcodes: &[Opcode::SampleArgmax],
    outputs: I32,
    why: "",
    kernels: &ArgmaxLastMissed,
};

struct ArgmaxLastMissed;

impl Kernels for ArgmaxLastMissed {
    fn candidates(&self, vocab: usize) -> Range<usize> {
        0..vocab.saturating_sub(1).max(1)
    }
}
