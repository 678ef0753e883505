//! The steps of an implementation of some style.

use std::borrow::Cow;

use megakernel_ir::DType;
use megakernel_numerics::{FloatFormat, encode};

use super::random::Random;
use super::style::{
    Arithmetic, Exponential, Factors, Frequency, Nan, Passes, Quantised, Scaled, Style, Variance,
};
use crate::kernels::Kernels;
use crate::order::Order;
use crate::parts::{Attended, Moments, QuantisedRow, Site, Tile, Unwritten, Window};

impl Style {
    fn wide(&self) -> bool {
        self.arithmetic == Arithmetic::Binary64
    }

    /// A result as it is held.
    fn held(&self, value: f64) -> f64 {
        if self.wide() { value } else { f64::from(value as f32) }
    }

    fn order(&self, site: Site) -> Order {
        if site.on_tensor_cores() { self.order } else { self.scalar_order }
    }

    /// Attention over a part of a window, its maximum first.
    fn attend_to(&self, window: &Window<'_>, from: usize, to: usize) -> Attended {
        let scores = window.scores.get(from..to).unwrap_or_default();
        let m = self.maximum(scores);
        if m == f64::NEG_INFINITY {
            return self.attended_nothing(window.head_dim);
        }
        let weights: Vec<f32> = scores.iter().map(|&s| self.exponential(f64::from(s), m) as f32).collect();
        let column = |d: usize| self.met(&weights, window.column(d).get(from..to).unwrap_or_default());
        Attended {
            a: (0..window.head_dim).map(|d| self.dot(Site::Values, &weights, &column(d))).collect(),
            m,
            l: self.sum(Site::Denominator, &weights),
        }
    }

    /// What these weights meet: nothing where one is 0 and is skipped.
    fn met<'x>(&self, weights: &[f32], column: &'x [f32]) -> Cow<'x, [f32]> {
        if !self.skips {
            return Cow::Borrowed(column);
        }
        let meet = |(&weight, &x): (&f32, &f32)| if weight == 0.0 { 0.0 } else { x };
        weights.iter().zip(column).map(meet).collect()
    }

    /// Two windows become one.
    fn merge(&self, left: Attended, right: &Attended) -> Attended {
        let m = self.maximum(&[left.m as f32, right.m as f32]);
        if m == f64::NEG_INFINITY {
            return left;
        }
        // A change of the reference point takes the difference first.
        let (c, d) = (self.exp(self.sub(left.m, m)), self.exp(self.sub(right.m, m)));
        let both = |x: f64, y: f64| self.mul_add(x, c, self.mul(y, d));
        Attended {
            a: left.a.iter().zip(&right.a).map(|(&x, &y)| both(x, y)).collect(),
            m,
            l: both(left.l, right.l),
        }
    }

    fn in_pieces(&self, window: &Window<'_>, length: usize) -> Attended {
        let n = window.scores.len();
        let length = length.max(1);
        let pieces = (0..n.div_ceil(length)).map(|piece| (piece * length, ((piece + 1) * length).min(n)));
        pieces.fold(self.attended_nothing(window.head_dim), |so_far, (from, to)| {
            let piece = self.attend_to(window, from, to);
            self.merge(so_far, &piece)
        })
    }

    /// The product of an element, a factor of its row and a weight.
    fn three_factors(&self, x: f64, factor: f64, w: f64) -> f64 {
        match self.factors {
            Factors::RowFirst => self.mul(self.mul(x, factor), w),
            Factors::RowAndWeight => self.mul(x, self.mul(factor, w)),
            Factors::WeightFirst => self.mul(self.mul(x, w), factor),
        }
    }

    /// Mean and sum of squared deviations, in one pass over each part.
    fn moments(&self, run: &[f32]) -> (f64, f64) {
        let parts = if let Variance::Merged(parts) = self.variance { parts } else { 1 };
        let mut merged = (0.0, 0.0, 0.0);
        for part in run.chunks(run.len().div_ceil(parts.max(1)).max(1)) {
            let (mean, squares) = self.welford(part);
            let (before, so_far, squares_so_far) = merged;
            let count = before + part.len() as f64;
            let step = self.sub(mean, so_far);
            let share = self.div(part.len() as f64, count);
            let between = self.mul(self.mul(step, step), self.mul(before, share));
            merged = (
                count,
                self.mul_add(step, share, so_far),
                self.add(self.add(squares_so_far, squares), between),
            );
        }
        (merged.1, merged.2)
    }

    /// The same in one pass (Welford).
    fn welford(&self, run: &[f32]) -> (f64, f64) {
        let (mut mean, mut squares) = (0.0, 0.0);
        for (count, &x) in (1..).zip(run) {
            let x = f64::from(x);
            let before = self.sub(x, mean);
            mean = self.add(mean, self.div(before, f64::from(count)));
            squares = self.mul_add(before, self.sub(x, mean), squares);
        }
        (mean, squares)
    }
}

/// `e^x`, from that of what is left of x when multiples of `ln 2` are taken off.
fn reduced(x: f32) -> f32 {
    // The first part has few digits, so that its multiples are exact.
    const HIGH: f32 = 0.693_359_4;
    const LOW: f32 = -2.121_944_4e-4;
    let k = (x * std::f32::consts::LOG2_E).round();
    let r = k.mul_add(-LOW, k.mul_add(-HIGH, x));
    let half = (k / 2.0).round();
    // In two steps, since `2^k` alone may be below what binary32 holds.
    libm::expf(r) * libm::exp2f(half) * libm::exp2f(k - half)
}

impl Kernels for Style {
    fn steps(&self) -> &dyn Kernels {
        self
    }
    fn add(&self, a: f64, b: f64) -> f64 {
        self.held(a + b)
    }
    fn mul(&self, a: f64, b: f64) -> f64 {
        self.held(a * b)
    }
    fn mul_add(&self, a: f64, b: f64, c: f64) -> f64 {
        match self.arithmetic {
            Arithmetic::Fused => f64::from((a as f32).mul_add(b as f32, c as f32)),
            _ => self.add(self.mul(a, b), c),
        }
    }
    fn div(&self, a: f64, b: f64) -> f64 {
        // The reciprocal of what is out of range is no shortcut.
        let usual = b.abs() > 1e-30 && b.abs() < 1e30;
        let quotient =
            if self.reciprocal && usual { self.mul(a, self.held(1.0 / b)) } else { self.held(a / b) };
        let flushed = self.exponential == Exponential::Flushed && (quotient as f32).is_subnormal();
        if flushed { 0.0f64.copysign(quotient) } else { quotient }
    }
    fn root(&self, x: f64) -> f64 {
        self.held(x.sqrt())
    }
    fn inverse_root(&self, x: f64) -> f64 {
        let direct = self.div(1.0, self.root(x));
        if !self.newton || self.wide() || !direct.is_normal() || !x.is_normal() {
            return direct;
        }
        // An estimate of 22 bits, and a step.
        let estimate = f64::from(f32::from_bits((direct as f32).to_bits() & !3));
        let error = self.mul_add(-self.mul(x, estimate), estimate, 1.0);
        self.mul_add(self.mul(0.5, estimate), error, estimate)
    }
    fn nan(&self, dtype: DType) -> Option<u32> {
        let format = FloatFormat::of(dtype)?;
        // Behind the largest number comes the infinity, if there is one, and then the least NaN.
        let least = format.largest + if format.has_infinity() { 2 } else { 1 };
        match self.nan {
            Nan::Quiet => None,
            Nan::Negative => Some(encode(dtype, f64::NAN) | format.sign()),
            Nan::Lowest => Some(least),
            Nan::Ones => Some(format.sign() | (format.sign() - 1)),
        }
    }
    fn unwritten(&self) -> Unwritten {
        self.unwritten
    }
    fn left_out(&self, _: f64) -> Option<f64> {
        self.infinite_masks.then_some(f64::NEG_INFINITY)
    }
    fn all_reduce(&self, shards: &[f32], _: DType) -> f64 {
        if !self.multiplied {
            return self.sum(Site::Shards, shards);
        }
        let mut terms: Vec<(f32, f32)> = Vec::new();
        for &shard in shards {
            match terms.iter_mut().find(|(term, _)| term.to_bits() == shard.to_bits()) {
                Some((_, count)) => *count += 1.0,
                None => terms.push((shard, 1.0)),
            }
        }
        let terms: Vec<f32> = terms.into_iter().map(|(term, count)| term * count).collect();
        self.sum(Site::Shards, &terms)
    }
    fn exp(&self, x: f64) -> f64 {
        if self.wide() {
            return libm::exp(x);
        }
        let x = x as f32;
        f64::from(match self.exponential {
            Exponential::Reduced if x.abs() < 150.0 => reduced(x),
            Exponential::Library | Exponential::Reduced => libm::expf(x),
            Exponential::Base2 | Exponential::Folded | Exponential::FoldedFused => {
                libm::exp2f(x * std::f32::consts::LOG2_E)
            }
            Exponential::Wide => libm::exp(f64::from(x)) as f32,
            Exponential::Flushed => Some(libm::expf(x)).filter(|y| !y.is_subnormal()).unwrap_or_default(),
        })
    }
    fn exponential(&self, s: f64, m: f64) -> f64 {
        let is_fused = match self.exponential {
            Exponential::Folded => false,
            Exponential::FoldedFused => true,
            _ => return self.exp(self.sub(s, m)),
        };
        if self.wide() {
            return libm::exp2(s * std::f64::consts::LOG2_E - m * std::f64::consts::LOG2_E);
        }
        let (s, m, c) = (s as f32, m as f32, std::f32::consts::LOG2_E);
        let exponent = if is_fused { s.mul_add(c, -(m * c)) } else { s * c - m * c };
        f64::from(libm::exp2f(exponent))
    }
    fn erf(&self, x: f64) -> f64 {
        if self.wide() { libm::erf(x) } else { f64::from(libm::erff(x as f32)) }
    }
    fn sin_cos(&self, angle: f64) -> (f64, f64) {
        if self.wide() {
            return (libm::sin(angle), libm::cos(angle));
        }
        (f64::from(libm::sinf(angle as f32)), f64::from(libm::cosf(angle as f32)))
    }
    fn pow(&self, base: f64, y: f64) -> f64 {
        if self.wide() {
            return libm::pow(base, y);
        }
        let (base, y) = (base as f32, y as f32);
        f64::from(match self.frequency {
            Frequency::Power => libm::powf(base, y),
            Frequency::Inverse => 1.0 / libm::powf(base, -y),
            Frequency::Base2 => libm::exp2f(y * libm::log2f(base)),
            Frequency::BaseE => libm::expf(y * libm::logf(base)),
        })
    }
    fn sum(&self, site: Site, terms: &[f32]) -> f64 {
        self.held(self.order(site).sum(terms))
    }
    fn dot(&self, site: Site, x: &[f32], w: &[f32]) -> f64 {
        self.held(self.order(site).dot(self.arithmetic == Arithmetic::Fused, x, w))
    }
    fn product(&self, tiles: &[Tile], x: &[f32], w: &[f32]) -> f64 {
        let _ = tiles;
        self.dot(Site::Matrix, x, w)
    }
    fn quantised_product(&self, tiles: &[Tile], x: &[f32], weights: &[f32], row: &QuantisedRow<'_>) -> f64 {
        if self.quantised == Quantised::Expanded {
            return self.product(tiles, x, weights);
        }
        let mut total = 0.0;
        let groups = x.chunks(row.group.max(1)).zip(row.q.chunks(row.group.max(1))).zip(row.scales);
        for (group, ((x, q), &scale)) in groups.enumerate() {
            let scale = f64::from(scale);
            let zero = row.zeros.and_then(|zeros| zeros.get(group)).copied();
            let part = match zero {
                // Without zero points there is no sum of x, which may be infinite.
                None => self.mul(scale, self.dot(Site::Matrix, x, q)),
                Some(zero) if self.quantised == Quantised::ByGroup => {
                    let shift = self.mul(self.mul(scale, f64::from(zero)), self.sum(Site::Matrix, x));
                    self.sub(self.mul(scale, self.dot(Site::Matrix, x, q)), shift)
                }
                Some(zero) => {
                    let shifted: Vec<f32> = q.iter().map(|q| q - zero).collect();
                    self.mul(scale, self.dot(Site::Matrix, x, &shifted))
                }
            };
            total = self.add(total, part);
        }
        total
    }
    fn biased_product(&self, tiles: &[Tile], x: &[f32], w: &[f32], bias: f64, output: DType) -> f64 {
        if !self.bias_first {
            return self.with_bias(self.product(tiles, x, w), bias, tiles.len(), output);
        }
        let with = |first: f32, rest: &[f32]| -> Vec<f32> {
            std::iter::once(first).chain(rest.iter().copied()).collect()
        };
        self.dot(Site::Matrix, &with(bias as f32, x), &with(1.0, w))
    }
    fn rms_element(&self, x: f64, factor: f64, w: f64, _: DType) -> f64 {
        self.three_factors(x, factor, w)
    }
    fn mean(&self, run: &[f32]) -> f64 {
        match self.variance {
            Variance::TwoPass => self.div(self.sum(Site::Mean, run), run.len() as f64),
            _ => self.moments(run).0,
        }
    }
    fn variance(&self, run: &[f32], mean: f64) -> f64 {
        if self.variance != Variance::TwoPass {
            return self.div(self.moments(run).1, run.len() as f64);
        }
        let deviations: Vec<f32> = run.iter().map(|&x| self.sub(f64::from(x), mean) as f32).collect();
        self.div(self.dot(Site::Variance, &deviations, &deviations), run.len() as f64)
    }
    fn layer_value(&self, x: f64, moments: Moments, w: f64, b: Option<f64>, output: DType) -> f64 {
        let Moments { mean, variance, eps } = moments;
        let factor = self.inverse_root(self.add(variance, eps));
        if self.scaled_mean {
            return self.layer_element(self.mul_add(x, factor, -self.mul(mean, factor)), w, b, output);
        }
        let deviation = self.sub(x, mean);
        if self.factors == Factors::RowFirst {
            return self.layer_element(self.normalised(deviation, variance, eps), w, b, output);
        }
        let product = self.three_factors(deviation, factor, w);
        b.map_or(product, |b| self.add(product, b))
    }
    fn normalised(&self, deviation: f64, variance: f64, eps: f64) -> f64 {
        let shifted = self.add(variance, eps);
        if self.newton {
            return self.mul(deviation, self.inverse_root(shifted));
        }
        self.div(deviation, self.root(shifted))
    }
    fn score(&self, q: &[f32], k: &[f32], scale: f64) -> f64 {
        let scaled =
            |row: &[f32]| -> Vec<f32> { row.iter().map(|&x| self.mul(f64::from(x), scale) as f32).collect() };
        match self.scaled {
            Scaled::Score => self.mul(self.dot(Site::Scores, q, k), scale),
            Scaled::Query => self.dot(Site::Scores, &scaled(q), k),
            Scaled::Key => self.dot(Site::Scores, q, &scaled(k)),
        }
    }
    fn softmax(&self, line: &[f32], _: &[f32]) -> Vec<f64> {
        let window = Window { scores: line, columns: &[], head_dim: 0 };
        let Attended { m, l, .. } = self.attend(&window);
        line.iter().map(|&x| self.div(self.exponential(f64::from(x), m), l)).collect()
    }
    fn attend(&self, window: &Window<'_>) -> Attended {
        let n = window.scores.len();
        match self.passes {
            Passes::Whole => self.attend_to(window, 0, n),
            Passes::Online(length) => self.in_pieces(window, length),
            Passes::Pieces(pieces) => self.in_pieces(window, n.div_ceil(pieces.max(1))),
        }
    }
    fn attend_plain(&self, window: &Window<'_>) -> Vec<f64> {
        let attended = self.attend(window);
        if !self.divided_weights {
            return self.normalise(&attended);
        }
        let Attended { m, l, .. } = attended;
        let weight = |&s: &f32| self.div(self.exponential(f64::from(s), m), l) as f32;
        let weights: Vec<f32> = window.scores.iter().map(weight).collect();
        let column = |d: usize| self.met(&weights, window.column(d));
        (0..window.head_dim).map(|d| self.dot(Site::Values, &weights, &column(d))).collect()
    }
    fn combine(&self, partials: &[Attended]) -> Vec<f64> {
        let live: Vec<&Attended> = partials.iter().filter(|partial| partial.l != 0.0).collect();
        let head_dim = partials.first().map_or(0, |partial| partial.a.len());
        if live.is_empty() {
            return vec![0.0; head_dim];
        }
        if self.passes != Passes::Whole && !self.divided_weights {
            // One partial after the other.
            let nothing = self.attended_nothing(head_dim);
            return self.normalise(&live.iter().fold(nothing, |merged, partial| self.merge(merged, partial)));
        }
        let scores: Vec<f32> = live.iter().map(|partial| partial.m as f32).collect();
        let m = self.maximum(&scores);
        let weights: Vec<f32> = scores.iter().map(|&s| self.exponential(f64::from(s), m) as f32).collect();
        let sums: Vec<f32> = live.iter().map(|partial| partial.l as f32).collect();
        let l = self.dot(Site::Partials, &weights, &sums);
        let divided: Vec<f32> = weights.iter().map(|&weight| self.div(f64::from(weight), l) as f32).collect();
        let column = |d: usize| -> Vec<f32> {
            live.iter().filter_map(|partial| partial.a.get(d)).map(|&a| a as f32).collect()
        };
        let merged = |d: usize| match self.divided_weights {
            true => self.dot(Site::Partials, &divided, &self.met(&divided, &column(d))),
            false => self.div(self.dot(Site::Partials, &weights, &self.met(&weights, &column(d))), l),
        };
        (0..head_dim).map(merged).collect()
    }
    fn rotate(&self, a: f64, b: f64, sin: f64, cos: f64) -> (f64, f64) {
        (self.mul_add(a, cos, -self.mul(b, sin)), self.mul_add(b, cos, self.mul(a, sin)))
    }
    fn gelu(&self, x: f64) -> f64 {
        let root = if self.wide() {
            std::f64::consts::FRAC_1_SQRT_2
        } else {
            f64::from(std::f32::consts::FRAC_1_SQRT_2)
        };
        let scaled = self.mul(x, root);
        if self.complements {
            let tail = if self.wide() { libm::erfc(-scaled) } else { f64::from(libm::erfcf(-scaled as f32)) };
            return self.three_factors(x, 0.5, tail);
        }
        self.three_factors(x, 0.5, self.add(1.0, self.erf(scaled)))
    }
    fn silu(&self, x: f64) -> f64 {
        let below = self.add(1.0, self.exp(-x));
        if self.complements { self.mul(x, self.div(1.0, below)) } else { self.div(x, below) }
    }
    fn pick(&self, n: usize, turn: u64) -> usize {
        match self.schedule {
            0 => 0,
            u64::MAX => n.saturating_sub(1),
            Style::IN_TURN => {
                if turn.is_multiple_of(2) {
                    0
                } else {
                    n.saturating_sub(1)
                }
            }
            seed => Random::new(seed ^ turn << 20).below(n as u64) as usize,
        }
    }
}
