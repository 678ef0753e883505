//! `score-scale-from-head`: scales by 1 / sqrt(head_dim), whatever `scale` says.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "score-scale-from-head",
    summary: "scales by 1 / sqrt(head_dim), whatever `scale` says",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &ScoreScaleFromHead,
};

struct ScoreScaleFromHead;

impl Kernels for ScoreScaleFromHead {
    fn score(&self, q: &[f32], k: &[f32], _: f64) -> f64 {
        Plain.score(q, k, self.inverse_root(q.len() as f64))
    }
}
