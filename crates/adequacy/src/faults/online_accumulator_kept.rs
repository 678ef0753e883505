//! `online-accumulator-kept`: goes over the window in tiles of 16 rows, and does not rescale the accumulator when the maximum rises.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;
use crate::parts::{Attended, Site, Window};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "online-accumulator-kept",
    summary: "goes over the window in tiles of 16 rows, and does not rescale the accumulator when the maximum rises",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &OnlineAccumulatorKept,
};

struct OnlineAccumulatorKept;

impl Kernels for OnlineAccumulatorKept {
    fn attend(&self, window: &Window<'_>) -> Attended {
        let mut sum = self.attended_nothing(window.head_dim);
        let rows = window.scores.len();
        for from in (0..rows).step_by(16) {
            let tile = from..(from + 16).min(rows);
            let scores = window.scores.get(tile.clone()).unwrap_or_default();
            let m = sum.m.max(self.maximum(scores));
            if m == f64::NEG_INFINITY {
                continue;
            }
            let rescale = self.exponential(sum.m, m);
            let weights: Vec<f32> =
                scores.iter().map(|&s| self.exponential(f64::from(s), m) as f32).collect();
            for (d, a) in sum.a.iter_mut().enumerate() {
                let column = window.column(d).get(tile.clone()).unwrap_or_default();
                *a = self.add(*a, self.dot(Site::Values, &weights, column));
            }
            sum.l = self.add(self.mul(sum.l, rescale), self.sum(Site::Denominator, &weights));
            sum.m = m;
        }
        sum
    }
}
