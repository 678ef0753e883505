//! What the default of a step does, where it is more than an expression.

use super::Kernels;
use crate::parts::{Attended, QuantisedRow, Site, Tile, Window};

/// The sum of terms.
#[inline(never)]
pub fn sum(terms: &[f32]) -> f64 {
    f64::from(terms.iter().fold(0.0, |sum, term| sum + term))
}

/// `start` plus the products of two rows.
#[inline(never)]
pub fn dot_onto(start: f64, x: &[f32], w: &[f32]) -> f64 {
    f64::from(x.iter().zip(w).fold(start as f32, |sum, (x, w)| sum + x * w))
}

/// One element of a matrix product.
#[inline(never)]
pub fn product(k: &dyn Kernels, tiles: &[Tile], x: &[f32], w: &[f32]) -> f64 {
    tiles.iter().fold(0.0, |sum, tile| {
        let x = x.get(tile.x.clone()).unwrap_or_default();
        let w = w.get(tile.w.clone()).unwrap_or_default();
        k.carry(k.dot_onto(Site::Matrix, sum, x, w))
    })
}

/// The weights of a quantised row.
#[inline(never)]
pub fn weights(k: &dyn Kernels, row: &QuantisedRow<'_>) -> Vec<f64> {
    let groups = row.scales.len();
    let weight = |(column, &q): (usize, &f32)| {
        let group = k.group(column, row.group, row.q.len()).min(groups.saturating_sub(1));
        let zero = row.zeros.and_then(|zeros| zeros.get(group)).copied();
        k.weight(q, zero, row.scales.get(group).copied().unwrap_or_default())
    };
    row.q.iter().enumerate().map(weight).collect()
}

/// The variance of a run.
#[inline(never)]
pub fn variance(k: &dyn Kernels, run: &[f32], mean: f64) -> f64 {
    let deviations: Vec<f32> = run.iter().map(|&x| k.sub(f64::from(x), mean) as f32).collect();
    k.div(k.dot(Site::Variance, &deviations, &deviations), run.len() as f64)
}

/// The largest of some numbers.
#[inline(never)]
pub fn maximum(numbers: &[f32]) -> f64 {
    let larger = |a: f32, b: f32| if b > a || b.is_nan() { b } else { a };
    f64::from(numbers.iter().copied().fold(f32::NEG_INFINITY, larger))
}

/// SOFTMAX of one line.
#[inline(never)]
pub fn softmax(k: &dyn Kernels, line: &[f32]) -> Vec<f64> {
    let m = k.maximum(line);
    let weights: Vec<f32> = line.iter().map(|&x| k.exponential(f64::from(x), m) as f32).collect();
    let l = k.sum(Site::Denominator, &weights);
    weights.iter().map(|&weight| k.div(f64::from(weight), l)).collect()
}

/// Attention of one head.
#[inline(never)]
pub fn attend(k: &dyn Kernels, window: &Window<'_>) -> Attended {
    let m = k.maximum(window.scores);
    if m == f64::NEG_INFINITY {
        return k.attended_nothing(window.head_dim);
    }
    let weights: Vec<f32> = window.scores.iter().map(|&s| k.exponential(f64::from(s), m) as f32).collect();
    let l = k.sum(Site::Denominator, &weights);
    let a = (0..window.head_dim).map(|d| k.dot(Site::Values, &weights, window.column(d))).collect();
    Attended { a, m, l }
}

/// The row that plain attention writes.
#[inline(never)]
pub fn normalise(k: &dyn Kernels, attended: &Attended) -> Vec<f64> {
    attended.a.iter().map(|&a| k.div(a, attended.l)).collect()
}

/// ATTENTION_COMBINE of one row.
#[inline(never)]
pub fn combine(k: &dyn Kernels, partials: &[Attended]) -> Vec<f64> {
    let scores: Vec<f32> = partials.iter().map(|partial| partial.m as f32).collect();
    let m = k.maximum(&scores);
    let weight = |partial: &Attended| k.partial_weight(partial.m, partial.l, m) as f32;
    let weights: Vec<f32> = partials.iter().map(weight).collect();
    let sums: Vec<f32> = partials.iter().map(|partial| partial.l as f32).collect();
    let l = k.dot(Site::Partials, &weights, &sums);
    let head_dim = partials.first().map_or(0, |partial| partial.a.len());
    let merged = |d: usize| {
        let column: Vec<f32> =
            partials.iter().filter_map(|partial| partial.a.get(d)).map(|&a| a as f32).collect();
        k.merged(k.dot(Site::Partials, &weights, &column), l)
    };
    (0..head_dim).map(merged).collect()
}

/// An implementation that takes every step as it should.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Kernels for Plain {
    fn steps(&self) -> &dyn Kernels {
        self
    }
}
