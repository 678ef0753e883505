//! `argmax-first-missed`: does not look at the first logit.

use std::ops::Range;

use megakernel_ir::Opcode;

use super::{Fault, I32};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "argmax-first-missed",
    summary: "does not look at the first logit",
    opcodes: &[Opcode::SampleArgmax],
    outputs: I32,
    why: "",
    kernels: &ArgmaxFirstMissed,
};

struct ArgmaxFirstMissed;

impl Kernels for ArgmaxFirstMissed {
    fn candidates(&self, vocab: usize) -> Range<usize> {
        1.min(vocab.saturating_sub(1))..vocab
    }
}
