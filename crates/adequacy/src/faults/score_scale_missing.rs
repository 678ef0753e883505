//! `score-scale-missing`: does not scale the scores.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;
use crate::parts::Site;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "score-scale-missing",
    summary: "does not scale the scores",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &ScoreScaleMissing,
};

struct ScoreScaleMissing;

impl Kernels for ScoreScaleMissing {
    fn score(&self, q: &[f32], k: &[f32], _: f64) -> f64 {
        self.dot(Site::Scores, q, k)
    }
}
