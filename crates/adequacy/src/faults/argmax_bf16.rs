//! `argmax-bf16`: compares logits after rounding to bfloat16.

use megakernel_ir::{DType, Opcode};

use super::{Fault, I32, round};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "argmax-bf16",
    summary: "compares logits after rounding to bfloat16",
    opcodes: &[Opcode::SampleArgmax],
    outputs: I32,
    why: "",
    kernels: &ArgmaxBf16,
};

struct ArgmaxBf16;

impl Kernels for ArgmaxBf16 {
    fn better(&self, logit: f32, best: f32) -> bool {
        round(DType::BF16, f64::from(logit)) > round(DType::BF16, f64::from(best))
    }
}
