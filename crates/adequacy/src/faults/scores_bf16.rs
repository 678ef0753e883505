//! `scores-bf16`: rounds the scores to bfloat16.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS, round};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "scores-bf16",
    summary: "rounds the scores to bfloat16",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &ScoresBf16,
};

struct ScoresBf16;

impl Kernels for ScoresBf16 {
    fn score(&self, q: &[f32], k: &[f32], scale: f64) -> f64 {
        round(DType::BF16, Plain.score(q, k, scale))
    }
}
