//! `score-scale-twice`: scales the scores twice.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "score-scale-twice",
    summary: "scales the scores twice",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &ScoreScaleTwice,
};

struct ScoreScaleTwice;

impl Kernels for ScoreScaleTwice {
    fn score(&self, q: &[f32], k: &[f32], scale: f64) -> f64 {
        self.mul(Plain.score(q, k, scale), scale)
    }
}
