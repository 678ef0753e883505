//! `probabilities-bf16`: rounds the weights of the values to bfloat16, and not those of the denominator.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS, round};
use crate::kernels::Kernels;
use crate::parts::{Attended, Site, Window};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "probabilities-bf16",
    summary: "rounds the weights of the values to bfloat16, and not those of the denominator",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &ProbabilitiesBf16,
};

struct ProbabilitiesBf16;

impl Kernels for ProbabilitiesBf16 {
    fn attend(&self, window: &Window<'_>) -> Attended {
        let m = self.maximum(window.scores);
        if m == f64::NEG_INFINITY {
            return self.attended_nothing(window.head_dim);
        }
        let weights: Vec<f32> =
            window.scores.iter().map(|&s| self.exponential(f64::from(s), m) as f32).collect();
        let l = self.sum(Site::Denominator, &weights);
        let rounded: Vec<f32> =
            weights.iter().map(|&weight| round(DType::BF16, f64::from(weight)) as f32).collect();
        let a = (0..window.head_dim).map(|d| self.dot(Site::Values, &rounded, window.column(d))).collect();
        Attended { a, m, l }
    }
}
