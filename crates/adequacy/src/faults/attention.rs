//! ATTENTION_TILE.

use std::ops::Range;

use megakernel_ir::{DType, Opcode};

use super::{FLOATS, Fault, round};
use crate::kernels::{Kernels, Plain};
use crate::parts::{Attended, Heads, Site, Window};

const ATTENTION: &[Opcode] = &[Opcode::AttentionTile];
const ONLY_F32: &[DType] = &[DType::F32];
const PARTIAL: &str = "a partial is F32";

faults! {
    "attention-not-normalised": "does not divide by the denominator", ATTENTION, FLOATS {
        fn normalise(&self, attended: &Attended) -> Vec<f64> {
            attended.a.clone()
        }
    }

    "cache-of-first-sequence": "attends to the cache of the first sequence only", ATTENTION, FLOATS {
        fn cache_of(&self, _: usize, _: usize) -> usize {
            0
        }
    }

    "empty-partial-lowest": "writes the lowest finite number as maximum of an empty partial",
        ATTENTION, ONLY_F32, PARTIAL {
        fn attended_nothing(&self, head_dim: usize) -> Attended {
            Attended { a: vec![0.0; head_dim], m: f64::from(f32::MIN), l: 0.0 }
        }
    }

    "empty-partial-zero": "writes 0 as maximum of an empty partial", ATTENTION, ONLY_F32, PARTIAL {
        fn attended_nothing(&self, head_dim: usize) -> Attended {
            Attended { a: vec![0.0; head_dim], m: 0.0, l: 0.0 }
        }
    }

    "gqa-by-tile": "gives query head h the cache head h modulo n_kv_heads", ATTENTION, FLOATS {
        fn kv_head(&self, head: usize, heads: Heads) -> usize {
            head.checked_rem(heads.caches).unwrap_or_default()
        }
    }

    "gqa-first-head": "gives every query head the first cache head", ATTENTION, FLOATS {
        fn kv_head(&self, _: usize, _: Heads) -> usize {
            0
        }
    }

    "mask-ignored": "ignores the mask of attention", ATTENTION, FLOATS {
        fn masked(&self, score: f64, _: f64, _: f64) -> f64 {
            score
        }
        fn keeps(&self, _: bool) -> bool {
            true
        }
    }

    "mask-inverted": "leaves out the rows that a BOOL mask keeps", ATTENTION, FLOATS {
        fn keeps(&self, mask: bool) -> bool {
            !mask
        }
    }

    "mask-of-first-head": "uses the mask of the first head for all heads", ATTENTION, FLOATS {
        fn mask_row(&self, _: usize) -> usize {
            0
        }
    }

    "mask-scaled": "adds a float mask before scaling", ATTENTION, FLOATS {
        fn masked(&self, score: f64, mask: f64, scale: f64) -> f64 {
            self.add(score, self.mul(mask, scale))
        }
    }

    "online-accumulator-kept": "goes over the window in tiles of 16 rows, and does not rescale the accumulator when the maximum rises",
        ATTENTION, FLOATS {
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

    "online-denominator-kept": "goes over the window in tiles of 16 rows, and does not rescale the denominator when the maximum rises",
        ATTENTION, FLOATS {
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
                    *a = self.add(self.mul(*a, rescale), self.dot(Site::Values, &weights, column));
                }
                sum.l = self.add(sum.l, self.sum(Site::Denominator, &weights));
                sum.m = m;
            }
            sum
        }
    }

    "partial-maximum-base-2": "writes the maximum of a partial in units of log 2",
        ATTENTION, ONLY_F32, PARTIAL {
        fn partial(&self, mut attended: Attended) -> Vec<f64> {
            attended.m = self.mul(attended.m, f64::from(std::f32::consts::LOG2_E));
            Plain.partial(attended)
        }
    }

    "partial-normalised": "writes a partial whose accumulator is divided by the denominator",
        ATTENTION, ONLY_F32, PARTIAL {
        fn partial(&self, mut attended: Attended) -> Vec<f64> {
            if attended.l > 0.0 {
                attended.a = Plain.normalise(&attended);
            }
            Plain.partial(attended)
        }
    }

    "partial-tail-swapped": "writes the denominator of a partial before its maximum",
        ATTENTION, ONLY_F32, PARTIAL {
        fn partial(&self, attended: Attended) -> Vec<f64> {
            let Attended { a, m, l } = attended;
            Plain.partial(Attended { a, m: l, l: m })
        }
    }

    "probabilities-bf16": "rounds the weights of the values to bfloat16, and not those of the denominator",
        ATTENTION, FLOATS {
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

    "score-scale-from-head": "scales by 1 / sqrt(head_dim), whatever `scale` says", ATTENTION, FLOATS {
        fn score(&self, q: &[f32], k: &[f32], _: f64) -> f64 {
            Plain.score(q, k, self.inverse_root(q.len() as f64))
        }
    }

    "score-scale-missing": "does not scale the scores", ATTENTION, FLOATS {
        fn score(&self, q: &[f32], k: &[f32], _: f64) -> f64 {
            self.dot(Site::Scores, q, k)
        }
    }

    "score-scale-twice": "scales the scores twice", ATTENTION, FLOATS {
        fn score(&self, q: &[f32], k: &[f32], scale: f64) -> f64 {
            self.mul(Plain.score(q, k, scale), scale)
        }
    }

    "scores-bf16": "rounds the scores to bfloat16", ATTENTION, FLOATS {
        fn score(&self, q: &[f32], k: &[f32], scale: f64) -> f64 {
            round(DType::BF16, Plain.score(q, k, scale))
        }
    }

    "value-row-behind": "takes the value of the row before", ATTENTION, FLOATS {
        fn value_row(&self, row: usize, window: &Range<usize>) -> usize {
            row.saturating_sub(1).max(window.start)
        }
    }

    "window-ends-early": "does not attend to the last row of the window", ATTENTION, FLOATS {
        fn window(&self, start: usize, len: usize, _: usize) -> Range<usize> {
            start..start + len - 1
        }
    }

    "window-ends-late": "attends to the row behind the window as well", ATTENTION, FLOATS {
        fn window(&self, start: usize, len: usize, rows: usize) -> Range<usize> {
            start..(start + len + 1).min(rows)
        }
    }

    "window-start-ignored": "attends from row 0, whatever `kv_start` says", ATTENTION, FLOATS {
        fn window(&self, _: usize, len: usize, _: usize) -> Range<usize> {
            0..len
        }
    }

    "window-starts-early": "attends to the row before the window as well", ATTENTION, FLOATS {
        fn window(&self, start: usize, len: usize, _: usize) -> Range<usize> {
            start.saturating_sub(1)..start + len
        }
    }

    "window-starts-late": "attends from the second row of the window", ATTENTION, FLOATS {
        fn window(&self, start: usize, len: usize, _: usize) -> Range<usize> {
            start + 1..start + len
        }
    }
}
