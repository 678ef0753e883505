//! `rope-frequency-bf16`: rounds the frequencies to bfloat16.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS, round};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rope-frequency-bf16",
    summary: "rounds the frequencies to bfloat16",
    opcodes: &[Opcode::Rope],
    outputs: FLOATS,
    why: "",
    kernels: &RopeFrequencyBf16,
};

struct RopeFrequencyBf16;

impl Kernels for RopeFrequencyBf16 {
    fn rope_frequency(&self, theta: f64, i: usize, half: usize) -> f64 {
        round(DType::BF16, Plain.rope_frequency(theta, i, half))
    }
}
