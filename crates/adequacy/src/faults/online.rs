//! Mistakes of a softmax that goes over its line tile by tile, keeping a maximum and sums that are rescaled where it rises.

use megakernel_ir::{DType, Opcode};

use super::{FLOATS, Fault};
use crate::kernels::{Kernels, Plain};
use crate::parts::{Attended, Site, Window};

const ATTENTION: &[Opcode] = &[Opcode::AttentionTile];
const COMBINE: &[Opcode] = &[Opcode::AttentionCombine];
const SOFTMAX: &[Opcode] = &[Opcode::Softmax];
/// Opcodes that go over lines of scores.
const LINES: &[Opcode] = &[Opcode::AttentionTile, Opcode::Softmax];

const ONLY_F32: &[DType] = &[DType::F32];
const PARTIAL: &str = "a partial is F32";

/// What is kept from tile to tile.
#[derive(Clone, Copy)]
struct Step {
    /// Number of the tile, from 0.
    tile: usize,
    /// How many there are.
    tiles: usize,
    /// The largest score before.
    before: f64,
    /// The largest score with this tile.
    after: f64,
}

/// Attention in tiles of `rows`. `rescale` says what the sums before a tile are multiplied by, accumulator and denominator, where
/// `exp(before - after)` would be right.
fn online(
    k: &dyn Kernels,
    window: &Window<'_>,
    rows: usize,
    rescale: &dyn Fn(Step, f64) -> (f64, f64),
) -> Attended {
    let mut sum = k.attended_nothing(window.head_dim);
    let n = window.scores.len();
    for (tile, from) in (0..n).step_by(rows).enumerate() {
        let part = from..(from + rows).min(n);
        let scores = window.scores.get(part.clone()).unwrap_or_default();
        let largest = k.maximum(scores);
        let m = if largest.is_nan() || sum.m.is_nan() { f64::NAN } else { sum.m.max(largest) };
        if m == f64::NEG_INFINITY {
            continue;
        }
        let right = if sum.m == f64::NEG_INFINITY { 0.0 } else { k.exponential(sum.m, m) };
        let step = Step { tile, tiles: n.div_ceil(rows), before: sum.m, after: m };
        let (of_values, of_weights) = rescale(step, right);
        let weights: Vec<f32> = scores.iter().map(|&s| k.exponential(f64::from(s), m) as f32).collect();
        for (d, a) in sum.a.iter_mut().enumerate() {
            let column = window.column(d).get(part.clone()).unwrap_or_default();
            *a = k.add(k.mul(*a, of_values), k.dot(Site::Values, &weights, column));
        }
        sum.l = k.add(k.mul(sum.l, of_weights), k.sum(Site::Denominator, &weights));
        sum.m = m;
    }
    sum
}

/// SOFTMAX of a line whose denominator is made so.
fn line(k: &dyn Kernels, scores: &[f32], rows: usize, rescale: &dyn Fn(Step, f64) -> (f64, f64)) -> Vec<f64> {
    let sum = online(k, &Window { scores, columns: &[], head_dim: 0 }, rows, rescale);
    scores.iter().map(|&s| k.div(k.exponential(f64::from(s), sum.m), sum.l)).collect()
}

/// Attention without the rows whose weight is less than `least`.
fn without_light_rows(window: &Window<'_>, least: f64) -> Attended {
    let m = Plain.maximum(window.scores);
    let keeps = |s: f32| {
        let weight = Plain.exponential(f64::from(s), m);
        weight >= least || weight.is_nan()
    };
    let kept: Vec<bool> = window.scores.iter().map(|&s| keeps(s)).collect();
    let only = |line: &[f32]| -> Vec<f32> {
        line.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(&x, _)| x).collect()
    };
    let columns: Vec<f32> = (0..window.head_dim).flat_map(|d| only(window.column(d))).collect();
    Plain.attend(&Window { scores: &only(window.scores), columns: &columns, head_dim: window.head_dim })
}

/// ATTENTION_COMBINE without the partials whose weight is less than `least`.
fn without_light(partials: &[Attended], least: f64) -> Vec<f64> {
    let scores: Vec<f32> = partials.iter().map(|partial| partial.m as f32).collect();
    let m = Plain.maximum(&scores);
    let keeps = |partial: &&Attended| {
        let weight = Plain.partial_weight(partial.m, partial.l, m);
        weight >= least || weight.is_nan()
    };
    let kept: Vec<Attended> = partials.iter().filter(keeps).cloned().collect();
    Plain.combine(if kept.is_empty() { partials } else { &kept })
}

faults! {


    "online-kept-32": "goes over the window in tiles of 32 rows, and never rescales what it has",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 32, &|_, _| (1.0, 1.0))
        }
    }

    "online-kept-32-softmax": "goes over a line in tiles of 32, and never rescales what it has",
        SOFTMAX, FLOATS {
        fn softmax(&self, scores: &[f32], _: &[f32]) -> Vec<f64> {
            line(self, scores, 32, &|_, _| (1.0, 1.0))
        }
    }

    "online-kept-64": "goes over the window in tiles of 64 rows, and never rescales what it has",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 64, &|_, _| (1.0, 1.0))
        }
    }

    "online-kept-64-softmax": "goes over a line in tiles of 64, and never rescales what it has",
        SOFTMAX, FLOATS {
        fn softmax(&self, scores: &[f32], _: &[f32]) -> Vec<f64> {
            line(self, scores, 64, &|_, _| (1.0, 1.0))
        }
    }

    "online-kept-128": "goes over the window in tiles of 128 rows, and never rescales what it has",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 128, &|_, _| (1.0, 1.0))
        }
    }

    "online-kept-128-softmax": "goes over a line in tiles of 128, and never rescales what it has",
        SOFTMAX, FLOATS {
        fn softmax(&self, scores: &[f32], _: &[f32]) -> Vec<f64> {
            line(self, scores, 128, &|_, _| (1.0, 1.0))
        }
    }

    "online-kept-in-second": "goes over the window in tiles of 32 rows, and does not rescale before the second one",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 32, &|step, right| if step.tile == 1 { (1.0, 1.0) } else { (right, right) })
        }
    }

    "online-kept-in-second-softmax": "goes over a line in tiles of 32, and does not rescale before the second one",
        SOFTMAX, FLOATS {
        fn softmax(&self, scores: &[f32], _: &[f32]) -> Vec<f64> {
            line(self, scores, 32, &|step, right| if step.tile == 1 { (1.0, 1.0) } else { (right, right) })
        }
    }

    "online-kept-in-last": "goes over the window in tiles of 32 rows, and does not rescale before the last one",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 32, &|step, right| if step.tile + 1 == step.tiles { (1.0, 1.0) } else { (right, right) })
        }
    }

    "online-kept-in-last-softmax": "goes over a line in tiles of 32, and does not rescale before the last one",
        SOFTMAX, FLOATS {
        fn softmax(&self, scores: &[f32], _: &[f32]) -> Vec<f64> {
            line(self, scores, 32, &|step, right| if step.tile + 1 == step.tiles { (1.0, 1.0) } else { (right, right) })
        }
    }

    "online-kept-in-last-128": "goes over the window in tiles of 128 rows, and does not rescale before the last one",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 128, &|step, right| if step.tile > 0 && step.tile + 1 == step.tiles { (1.0, 1.0) } else { (right, right) })
        }
    }

    "online-kept-in-last-128-softmax": "goes over a line in tiles of 128, and does not rescale before the last one",
        SOFTMAX, FLOATS {
        fn softmax(&self, scores: &[f32], _: &[f32]) -> Vec<f64> {
            line(self, scores, 128, &|step, right| if step.tile > 0 && step.tile + 1 == step.tiles { (1.0, 1.0) } else { (right, right) })
        }
    }

    "online-kept-by-little": "goes over the window in tiles of 16 rows, and does not rescale where the maximum rises by less than 1/4",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 16, &|step, right| if step.after - step.before < 0.25 { (1.0, 1.0) } else { (right, right) })
        }
    }

    "online-kept-by-little-softmax": "goes over a line in tiles of 16, and does not rescale where the maximum rises by less than 1/4",
        SOFTMAX, FLOATS {
        fn softmax(&self, scores: &[f32], _: &[f32]) -> Vec<f64> {
            line(self, scores, 16, &|step, right| if step.after - step.before < 0.25 { (1.0, 1.0) } else { (right, right) })
        }
    }

    "online-kept-by-one": "goes over the window in tiles of 32 rows, and does not rescale where the maximum rises by less than 1",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 32, &|step, right| if step.after - step.before < 1.0 { (1.0, 1.0) } else { (right, right) })
        }
    }

    "online-kept-by-one-softmax": "goes over a line in tiles of 32, and does not rescale where the maximum rises by less than 1",
        SOFTMAX, FLOATS {
        fn softmax(&self, scores: &[f32], _: &[f32]) -> Vec<f64> {
            line(self, scores, 32, &|step, right| if step.after - step.before < 1.0 { (1.0, 1.0) } else { (right, right) })
        }
    }

    "online-kept-every-row": "goes over the window in tiles of 1 rows, and does not rescale where the maximum rises by less than 1/16",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 1, &|step, right| if step.after - step.before < 0.0625 { (1.0, 1.0) } else { (right, right) })
        }
    }

    "online-kept-every-row-softmax": "goes over a line in tiles of 1, and does not rescale where the maximum rises by less than 1/16",
        SOFTMAX, FLOATS {
        fn softmax(&self, scores: &[f32], _: &[f32]) -> Vec<f64> {
            line(self, scores, 1, &|step, right| if step.after - step.before < 0.0625 { (1.0, 1.0) } else { (right, right) })
        }
    }

    "online-accumulator-kept-64": "goes over the window in tiles of 64 rows, and rescales the denominator only",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 64, &|_, right| (1.0, right))
        }
    }

    "online-denominator-kept-64": "goes over the window in tiles of 64 rows, and rescales the accumulator only",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 64, &|_, right| (right, 1.0))
        }
    }

    "online-accumulator-kept-128": "goes over the window in tiles of 128 rows, and rescales the denominator only",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 128, &|_, right| (1.0, right))
        }
    }

    "online-denominator-kept-128": "goes over the window in tiles of 128 rows, and rescales the accumulator only",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 128, &|_, right| (right, 1.0))
        }
    }

    "online-denominator-kept-in-last": "goes over the window in tiles of 16 rows, and does not rescale the denominator before the last one",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 16, &|step, right| (right, if step.tile + 1 == step.tiles { 1.0 } else { right }))
        }
    }

    "online-rescaled-twice": "goes over the window in tiles of 32 rows, and rescales the accumulator twice",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 32, &|_, right| (right * right, right))
        }
    }

    "online-rescaled-always": "goes over the window in tiles of 32 rows, and multiplies by exp(-1/16) for each tile that does not raise the maximum",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 32, &|step, right| if step.after > step.before { (right, right) } else { (0.9394, 1.0) })
        }
    }

    "online-first-forgotten": "goes over the window in tiles of 64 rows, and forgets the first one where the maximum rises by more than 8",
        ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            online(self, window, 64, &|step, right| if step.after - step.before > 8.0 && step.tile == 1 { (0.0, right + 1.0) } else { (right, right) })
        }
    }

    "weights-below-8-dropped": "takes 0 for exponentials below exp(-7)",
        LINES, FLOATS {
        fn exponential(&self, s: f64, m: f64) -> f64 {
            if s - m < -7.0 { 0.0 } else { Plain.exponential(s, m) }
        }
        fn combine(&self, partials: &[Attended]) -> Vec<f64> {
            Plain.combine(partials)
        }
    }

    "scores-clamped-1000": "cuts off scores at -1,000 and 1,000",
        ATTENTION, FLOATS {
        fn score(&self, q: &[f32], k: &[f32], scale: f64) -> f64 {
            Plain.score(q, k, scale).clamp(-1000.0, 1000.0)
        }
    }

    "scale-magnitude": "scales by the magnitude of `scale`",
        ATTENTION, FLOATS {
        fn score(&self, q: &[f32], k: &[f32], scale: f64) -> f64 {
            Plain.score(q, k, scale.abs())
        }
    }

    "maximum-before-scale": "stores the magnitude of the largest score of a partial, in place of a negative one",
        ATTENTION, ONLY_F32, PARTIAL {
        fn partial(&self, attended: Attended) -> Vec<f64> {
            let Attended { a, m, l } = attended;
            Plain.partial(Attended { a, m: if m < 0.0 { -m } else { m }, l })
        }
    }

    "combine-below-1e-3": "takes a partial with a denominator below 1e-3 for an empty one",
        COMBINE, FLOATS {
        fn partial_weight(&self, m_p: f64, l_p: f64, m: f64) -> f64 {
            if l_p < 1e-3 { 0.0 } else { Plain.partial_weight(m_p, l_p, m) }
        }
    }

    "combine-below-1e-20": "takes a partial with a denominator below 1e-20 for an empty one",
        COMBINE, FLOATS {
        fn partial_weight(&self, m_p: f64, l_p: f64, m: f64) -> f64 {
            if l_p < 1e-20 { 0.0 } else { Plain.partial_weight(m_p, l_p, m) }
        }
    }

    "combine-denominator-least": "divides by at least 1e-6",
        COMBINE, FLOATS {
        fn merged(&self, a: f64, l: f64) -> f64 {
            Plain.merged(a, if l > 0.0 { l.max(1e-6) } else { l })
        }
    }

    "combine-denominator-plus": "adds 1e-6 to the denominator",
        COMBINE, FLOATS {
        fn merged(&self, a: f64, l: f64) -> f64 {
            Plain.merged(a, if l > 0.0 { l + 1e-6 } else { l })
        }
    }

    "combine-sum-below-1e-36": "takes a sum of denominators below 1e-36 for 0", COMBINE, FLOATS {
        fn merged(&self, a: f64, l: f64) -> f64 {
            Plain.merged(a, if l < 1e-36 { 0.0 } else { l })
        }
    }

    "combine-sum-least-1e-34": "divides by at least 1e-34", COMBINE, FLOATS {
        fn merged(&self, a: f64, l: f64) -> f64 {
            Plain.merged(a, if l > 0.0 { l.max(1e-34) } else { l })
        }
    }

    "combine-light-skipped-1e-20": "leaves out partials that weigh less than 1e-20, whatever they hold", COMBINE, FLOATS {
        fn combine(&self, partials: &[Attended]) -> Vec<f64> {
            without_light(partials, 1e-20)
        }
    }

    "combine-light-skipped-1e-30": "leaves out partials that weigh less than 1e-30, whatever they hold", COMBINE, FLOATS {
        fn combine(&self, partials: &[Attended]) -> Vec<f64> {
            without_light(partials, 1e-30)
        }
    }

    "light-rows-skipped-1e-20": "leaves out rows that weigh less than 1e-20, whatever they hold", ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            without_light_rows(window, 1e-20)
        }
    }

    "light-rows-skipped-1e-30": "leaves out rows that weigh less than 1e-30, whatever they hold", ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            without_light_rows(window, 1e-30)
        }
    }

    "combine-weights-by-denominator": "weighs partials by their denominators alone where maxima are within 1 of each other",
        COMBINE, FLOATS {
        fn partial_weight(&self, m_p: f64, l_p: f64, m: f64) -> f64 {
            if l_p > 0.0 && m - m_p < 1.0 { 1.0 } else { Plain.partial_weight(m_p, l_p, m) }
        }
    }

    "combine-maxima-clamped": "cuts off maxima at 88",
        COMBINE, FLOATS {
        fn partial_tail(&self, m: f64, l: f64) -> (f64, f64) {
            (m.min(88.0), l)
        }
    }

    "combine-means": "takes the mean of the means of the partials",
        COMBINE, FLOATS {
        fn partial_tail(&self, _: f64, l: f64) -> (f64, f64) {
            (0.0, l)
        }
    }
}
