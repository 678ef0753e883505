//! ATTENTION_TILE (clause OPC-07): attention of one query position per sequence over a window of the cache.

use std::f64::consts::LOG2_E;

use megakernel_ir::Param;
use megakernel_ir::params::FLAG_PARTIAL_WRITE;

use super::dot::dot;
use super::view::{Line, extent, index, last};
use super::weights::{self, Reference, Weights};
use super::{Data, Kernel, TaskView, Written};
use crate::vm::bounded::{Bounded, LARGEST, TINY, UNIT, lowest_bit};
use crate::vm::sum::Sum;

pub(super) struct AttentionTile;

pub(super) static KERNEL: AttentionTile = AttentionTile;

/// What is the same for all heads.
struct Tile<'a> {
    q: Line<'a>,
    k: Line<'a>,
    v: Line<'a>,
    mask: Option<Mask<'a>>,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    max_seq: usize,
    start: usize,
    length: usize,
    scale: f64,
    unit: f64,
    is_partial: bool,
}

struct Mask<'a> {
    data: Data<'a>,
    has_heads: bool,
}

/// A row of the window that is not left out.
struct Row<'a> {
    score: Bounded,
    v: Line<'a>,
}

impl Kernel for AttentionTile {
    fn run(&self, task: &TaskView<'_>) -> Written {
        let cache = task.shape(1);
        let (batch, max_seq) = match *cache {
            [batch, max_seq, _, _] => (extent(batch), extent(max_seq)),
            [max_seq, ..] => (1, extent(max_seq)),
            [] => (0, 0),
        };
        let mask = task.inputs.get(3).map(|mask| Mask {
            data: mask.data,
            has_heads: mask.shape.len().saturating_add(2) == cache.len().saturating_add(1),
        });
        let tile = Tile {
            q: task.reals(0),
            k: task.reals(1),
            v: task.reals(2),
            mask,
            heads: task.size(Param::NHeads),
            kv_heads: task.size(Param::NKvHeads),
            head_dim: last(cache),
            max_seq,
            start: task.size(Param::KvStart),
            length: task.size(Param::KvLen),
            scale: task.real(Param::Scale, 1.0),
            unit: task.unit,
            is_partial: task.params.int(Param::Flags).unwrap_or(0) & FLAG_PARTIAL_WRITE != 0,
        };
        let mut values = Vec::new();
        for sequence in 0..batch {
            for head in 0..tile.heads {
                values.extend(tile.head(sequence, head));
            }
        }
        Written::Reals(values)
    }
}

impl<'a> Tile<'a> {
    fn head(&self, sequence: usize, head: usize) -> Vec<Bounded> {
        let rows = self.rows(sequence, head);
        let scores: Vec<Bounded> = rows.iter().map(|row| row.score).collect();
        let reference = if self.is_partial { Reference::Maximum } else { Reference::Common };
        let Weights { max, weights } = Weights::of(&scores, reference);
        let is_empty = max.v == f64::NEG_INFINITY;
        if is_empty && !self.is_partial {
            return vec![Bounded::UNSPECIFIED; self.head_dim];
        }
        let denominator = Sum::of(weights.iter().copied(), UNIT);
        let divisor = if self.is_partial { Bounded::ONE } else { denominator };
        let (sums, spreads) = self.weighted(&rows, &weights, divisor);
        if self.is_partial {
            // Which of NaN and a number is the larger is not specified.
            let max = if max.v.is_nan() { Bounded::UNSPECIFIED } else { max };
            let sums = sums.into_iter().map(|sum| sum.finish(self.unit, 1.0));
            return sums.chain([max, denominator]).collect();
        }
        let mean = |(sum, spread)| weights::mean(sum, denominator, self.unit, spread);
        sums.into_iter().zip(spreads).map(mean).collect()
    }

    /// The terms of the sum of each element, and the sum of the magnitudes of what is weighed. The weights may be divided by
    /// `divisor` first.
    fn weighted(&self, rows: &[Row<'_>], weights: &[Bounded], divisor: Bounded) -> (Vec<Sum>, Vec<f64>) {
        let mut sums = vec![Sum::new(); self.head_dim];
        let mut spreads = vec![0.0; self.head_dim];
        for (row, &weight) in rows.iter().zip(weights) {
            let elements = sums.iter_mut().zip(&mut spreads);
            if let (None, true) = (row.v.bounds, weight.v.is_finite() && weight.is_specified())
                && row.v.values.iter().all(|v| v.abs() <= f64::from(f32::MAX))
            {
                // The common case, with the same result.
                for ((sum, spread), &v) in elements.zip(row.v.values) {
                    sum.push_finite(Bounded { v: weight.v * v, e: weight.e * v.abs() });
                    *spread += v.abs();
                }
                continue;
            }
            for ((sum, spread), v) in elements.zip(row.v.iter()) {
                sum.push(weights::weighed(weight, v, divisor));
                *spread += v.magnitude();
            }
        }
        (sums, spreads)
    }

    /// The rows of the window that the mask does not leave out.
    fn rows(&self, sequence: usize, head: usize) -> Vec<Row<'a>> {
        let group = self.heads.checked_div(self.kv_heads).unwrap_or(1);
        let kv_head = head.checked_div(group).unwrap_or(0);
        let q = self.q.row(index(sequence, self.heads, head), self.head_dim);
        let q_size: f64 = q.iter().map(Bounded::magnitude).sum();
        let mut rows = Vec::with_capacity(self.length);
        for j in 0..self.length {
            let bias = match &self.mask {
                None => None,
                Some(mask) => match mask.at(self, sequence, head, j) {
                    Masked::Out => continue,
                    Masked::Added(bias) => Some(bias),
                },
            };
            let row = index(sequence, self.max_seq, self.start.saturating_add(j));
            let row = index(row, self.kv_heads, kv_head);
            let (k, v) = (self.k.row(row, self.head_dim), self.v.row(row, self.head_dim));
            let score = self.score(q, k, q_size);
            rows.push(Row { score: bias.map_or(score, |bias| biased(score, bias)), v });
        }
        rows
    }

    /// `scale * q.k`, where the scale may be multiplied with q, k or their product.
    fn score(&self, q: Line<'_>, k: Line<'_>, q_size: f64) -> Bounded {
        let products = dot(q, k);
        // Whatever the sum is rounded to, 0 times it is 0.
        let is_exact =
            self.scale == 0.0 || products.is_exact() && self.scales_exactly(q) && self.scales_exactly(k);
        let products = products.scaled(self.scale);
        let score = match is_exact {
            true => products.finish(self.unit, 2.0),
            false => products.finish_rounded(self.unit, 2.0),
        };
        if score.is_nan() {
            return score;
        }
        if self.overflows(q) || self.overflows(k) {
            return Bounded::UNSPECIFIED;
        }
        if (is_exact && products.is_exact()) || !score.v.is_finite() {
            return score;
        }
        let k_size: f64 = k.iter().map(Bounded::magnitude).sum();
        score.widened(TINY * (q_size + k_size + products.count() * self.scale.abs()))
    }

    /// Whether nothing of this line underflows when it is scaled.
    fn scales_exactly(&self, line: Line<'_>) -> bool {
        let bit = |x: f64| if x == 0.0 { f64::INFINITY } else { lowest_bit(x) };
        line.iter().all(|x| bit(self.scale) * bit(x.v) >= 2.0 * TINY)
    }

    /// Whether a finite element of this line overflows when it is scaled, or the scale when it takes in log2(e).
    fn overflows(&self, line: Line<'_>) -> bool {
        let scale = self.scale.abs();
        let finite = |x: &Bounded| x.v.is_finite();
        scale > 1.0
            && (scale * LOG2_E > LARGEST
                || line.iter().filter(finite).any(|x| x.magnitude() * scale > LARGEST))
    }
}

/// What the mask says of a row.
enum Masked {
    Out,
    Added(Bounded),
}

impl Mask<'_> {
    fn at(&self, tile: &Tile<'_>, sequence: usize, head: usize, j: usize) -> Masked {
        let line = if self.has_heads { index(sequence, tile.heads, head) } else { sequence };
        let index = index(line, tile.length, j);
        match self.data {
            Data::Reals { values, bounds } => Masked::Added(Line { values, bounds }.at(index)),
            Data::Ints(ints) if ints.get(index) == Some(&0) => Masked::Out,
            Data::Ints(_) => Masked::Added(Bounded::ZERO),
        }
    }
}

/// A score with its mask added. What `-inf` makes of a score that is no number is not specified, since the row
/// may be skipped.
fn biased(score: Bounded, bias: Bounded) -> Bounded {
    if bias.v == f64::NEG_INFINITY && (!score.v.is_finite() || !score.is_specified()) {
        return Bounded::UNSPECIFIED;
    }
    score + bias
}

#[cfg(test)]
mod tests {
    use crate::vm::bounded::Bounded;
    use crate::vm::kernels::testing::{
        Family, Input, Random, Shares, assert_exact, assert_near, bounded, ints, reals, specified,
    };

    const INF: f64 = f64::INFINITY;

    /// One sequence with heads of two elements over four rows; `rest` is operands and parameters beyond them.
    fn task(heads: usize, kv_heads: usize, mask: &str, rest: &str) -> String {
        format!(
            "ATTENTION_TILE F32[{heads},2] F32[4,{kv_heads},2] F32[4,{kv_heads},2] {mask} -> F32[{heads},{}]; head_dim=2 n_heads={heads} n_kv_heads={kv_heads} scale=0.5 {rest}",
            if rest.contains("flags=2") { 4 } else { 2 }
        )
    }

    #[test]
    fn scores_of_zero_give_the_mean_of_the_window() {
        let k = reals(&[0.0; 8]);
        let v = reals(&[9.0, 9.0, 1.0, 2.0, 3.0, -4.0, 9.0, 9.0]);
        let task = task(1, 1, "", "kv_start=1 kv_len=2");
        assert_exact(&task, &[reals(&[1.0, 2.0]), k, v], &[2.0, -1.0]);
    }

    #[test]
    fn known_values() {
        let q = reals(&[2.0, 0.0]);
        let k = reals(&[1.0, 5.0, 2.0, 5.0, 9.0, 9.0, 9.0, 9.0]);
        let v = reals(&[1.0, 0.0, 0.0, 1.0, 9.0, 9.0, 9.0, 9.0]);
        let w = (-1f64).exp();
        let plain = task(1, 1, "", "kv_start=0 kv_len=2");
        assert_near(&plain, &[q.clone(), k.clone(), v.clone()], &[w / (1.0 + w), 1.0 / (1.0 + w)]);
        let partial = task(1, 1, "", "kv_start=0 kv_len=2 flags=2");
        assert_near(&partial, &[q, k, v], &[w, 1.0, 2.0, 1.0 + w]);
    }

    #[test]
    fn heads_repeat_in_groups() {
        // Heads 0 and 1 use kv head 0, heads 2 and 3 use kv head 1.
        let v = reals(&[1.0, 2.0, 3.0, 4.0].repeat(4));
        let task = task(4, 2, "", "kv_start=0 kv_len=4");
        let expected = [1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0];
        assert_exact(&task, &[reals(&[1.0; 8]), reals(&[0.0; 16]), v], &expected);
    }

    #[test]
    fn sequences_have_their_caches() {
        let task = "ATTENTION_TILE F32[2,1,1] F32[2,2,1,1] F32[2,2,1,1] -> F32[2,1]; head_dim=1 n_heads=1 n_kv_heads=1 scale=1 kv_start=1 kv_len=1";
        let inputs = [reals(&[1.0, 1.0]), reals(&[0.0; 4]), reals(&[1.0, 2.0, 3.0, 4.0])];
        assert_exact(task, &inputs, &[2.0, 4.0]);
    }

    #[test]
    fn masks_in_every_shape() {
        let caches = |b: usize| [reals(&vec![0.0; 4 * b]), reals(&[1.0, 2.0, 4.0, 8.0].repeat(b))];
        let run = |mask: &str, values: Input, b: usize, expected: &[f64]| {
            let (q, cache) = if b == 1 {
                ("2,1".into(), "4,1,1".into())
            } else {
                (format!("{b},2,1"), format!("{b},4,1,1"))
            };
            let task = format!(
                "ATTENTION_TILE F32[{q}] F32[{cache}] F32[{cache}] {mask} -> F32[{q}]; head_dim=1 n_heads=2 n_kv_heads=1 scale=1 kv_start=0 kv_len=4"
            );
            let [k, v] = caches(b);
            assert_exact(&task, &[reals(&vec![1.0; 2 * b]), k, v, values], expected);
        };
        run("BOOL[4]", ints(&[1, 1, 0, 0]), 1, &[1.5, 1.5]);
        run("BOOL[2,4]", ints(&[1, 1, 0, 0, 0, 0, 1, 1]), 1, &[1.5, 6.0]);
        run("BOOL[2,4]", ints(&[0, 0, 1, 1, 1, 0, 0, 0]), 2, &[6.0, 6.0, 1.0, 1.0]);
        let heads = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
        run("BOOL[2,2,4]", ints(&heads), 2, &[1.0, 2.0, 4.0, 8.0]);
        let float = |mask: &[i64]| {
            reals(&mask.iter().map(|&on| if on == 1 { 0.0 } else { -INF }).collect::<Vec<_>>())
        };
        run("F32[4]", float(&[1, 1, 0, 0]), 1, &[1.5, 1.5]);
        run("BF16[2,4]", float(&[1, 1, 0, 0, 0, 0, 1, 1]), 1, &[1.5, 6.0]);
        run("F16[2,4]", float(&[0, 0, 1, 1, 1, 0, 0, 0]), 2, &[6.0, 6.0, 1.0, 1.0]);
        run("F32[2,2,4]", float(&heads), 2, &[1.0, 2.0, 4.0, 8.0]);
    }

    #[test]
    fn a_float_mask_is_added_after_the_scale() {
        let q = reals(&[2.0, 0.0]);
        let k = reals(&[1.0, 5.0, 2.0, 5.0, 0.0, 0.0, 0.0, 0.0]);
        let v = reals(&[1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        let w = (-2f64).exp();
        let task = task(1, 1, "F32[2]", "kv_start=0 kv_len=2");
        assert_near(&task, &[q, k, v, reals(&[3.0, 0.0])], &[1.0 / (1.0 + w), w / (1.0 + w)]);
    }

    #[test]
    fn empty_windows_and_masks_that_leave_nothing() {
        let inputs = [reals(&[1.0, 2.0]), reals(&[1.0; 8]), reals(&[1.0; 8])];
        let empty = [0.0, 0.0, -INF, 0.0];
        assert_exact(&task(1, 1, "", "kv_start=4 kv_len=0 flags=2"), &inputs, &empty);
        let with = |mask: Input| [&inputs[..], &[mask]].concat();
        for (dtype, mask) in [("BOOL", ints(&[0, 0])), ("F32", reals(&[-INF, -INF]))] {
            let mask_operand = format!("{dtype}[2]");
            let partial = task(1, 1, &mask_operand, "kv_start=0 kv_len=2 flags=2");
            assert_exact(&partial, &with(mask.clone()), &empty);
            let plain = task(1, 1, &mask_operand, "kv_start=0 kv_len=2");
            assert_eq!(specified(&plain, &with(mask)), [false; 2]);
        }
    }

    #[test]
    fn rows_outside_of_the_window_do_not_matter() {
        let nan = f64::NAN;
        let k = reals(&[nan, nan, 1.0, 1.0, 1.0, 1.0, nan, nan]);
        let v = reals(&[nan, nan, 1.0, 2.0, nan, nan, nan, nan]);
        let task = task(1, 1, "BOOL[2]", "kv_start=1 kv_len=2");
        // Scores are 1 - 1.
        assert_exact(&task, &[reals(&[1.0, -1.0]), k, v, ints(&[1, 0])], &[1.0, 2.0]);
    }

    #[test]
    fn special_values() {
        let nan = f64::NAN;
        let plain = task(1, 1, "", "kv_start=0 kv_len=2");
        let with = |q: f64, v: f64| {
            let k = reals(&[1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
            [reals(&[q, 0.0]), k, reals(&[v, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0])]
        };
        assert_exact(&plain, &with(nan, 1.0), &[nan, nan]);
        assert_exact(&plain, &with(INF, 1.0), &[nan, nan]);
        assert_exact(&plain, &with(0.0, -INF), &[-INF, 1.0]);
        let partial = task(1, 1, "", "kv_start=0 kv_len=2 flags=2");
        assert_eq!(specified(&partial, &with(nan, 1.0)), [true, true, false, true]);
        // A row that the mask weighs nothing may be skipped or not.
        let masked = task(1, 1, "F32[2]", "kv_start=0 kv_len=2");
        let inputs = [&with(1.0, INF)[..], &[reals(&[-INF, 0.0])]].concat();
        assert_eq!(specified(&masked, &inputs), [false, true]);
    }

    #[test]
    fn a_row_whose_weight_may_be_zero_may_be_skipped() {
        let task = task(1, 1, "", "kv_start=0 kv_len=2");
        let with = |k: f64, v: f64| {
            let rows = |first: [f64; 4]| reals(&[first, [0.0; 4]].concat());
            bounded(&task, &[reals(&[2.0, 0.0]), rows([k, 0.0, 0.0, 0.0]), rows([v, 1.0, 1.0, 1.0])])
        };
        for v in [f64::NAN, INF] {
            // exp(-86) is a normal number, and exp(-88) is not.
            let near = with(-86.0, v)[0];
            assert!(near.is_exact() && near.v.to_bits() == v.to_bits(), "{near:?}");
            for k in [-88.0, -1000.0] {
                let far = with(k, v);
                assert!(!far[0].is_specified() && far[1].is_specified(), "{k}: {far:?}");
            }
        }
    }

    #[test]
    fn a_scale_may_overflow_or_underflow_with_a_query_or_a_key() {
        let task = |scale: i32| {
            format!(
                "ATTENTION_TILE F32[1,1] F32[2,1,1] F32[2,1,1] -> F32[1,3]; head_dim=1 n_heads=1 n_kv_heads=1 scale={} kv_start=0 kv_len=1 flags=2",
                2f64.powi(scale)
            )
        };
        let score = |scale: i32, q: i32, k: i32| {
            let [q, k] = [q, k].map(|n| 2f64.powi(n));
            bounded(&task(scale), &[reals(&[q]), reals(&[k, 0.0]), reals(&[1.0, 1.0])])[1]
        };
        assert_eq!(score(100, 20, -120), Bounded::ONE);
        assert!(!score(120, 20, -140).is_specified() && !score(120, -140, 20).is_specified());
        assert_eq!(score(-100, -20, 120), Bounded::ONE);
        for (q, k) in [(-60, 120), (120, -60)] {
            let lost = score(-100, q, k);
            assert!(lost.v == 2f64.powi(-40) && lost.e > 0.0, "{lost:?}");
        }
    }

    #[test]
    fn a_scale_of_0_makes_0_of_any_sum() {
        let score = |scale: &str| {
            let task = format!(
                "ATTENTION_TILE F32[1,1] F32[2,1,1] F32[2,1,1] -> F32[1,3]; head_dim=1 n_heads=1 n_kv_heads=1 scale={scale} kv_start=0 kv_len=1 flags=2"
            );
            // Its square has more digits than binary32.
            let odd = 1.0 + 2f64.powi(-23);
            bounded(&task, &[reals(&[odd]), reals(&[odd, 0.0]), reals(&[1.0, 1.0])])[1]
        };
        assert!(score("1.0").e > 0.0);
        assert_eq!(score("0.0"), Bounded::ZERO);
    }

    #[test]
    fn a_scale_that_is_no_power_of_two_may_be_multiplied_first() {
        // Both scores are 3, but 0.3 * q is rounded.
        let inputs = [reals(&[5.0, 7.0]), reals(&[1.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]), reals(&[1.0; 8])];
        let values =
            bounded(&task(1, 1, "", "kv_start=0 kv_len=2").replace("scale=0.5", "scale=0.3"), &inputs);
        assert!(values[0].e > 0.0);
    }

    #[test]
    fn binary32_stays_within_the_bound() {
        let mut shares = Shares::default();
        for seed in 0..400 {
            let mut random = Random::new(seed);
            for family in [Family::Plain, Family::Cancelling, Family::Small, Family::Tiny] {
                let (dim, length) = (2 + random.below(6), 1 + random.below(12));
                let [mut q, mut mask] = [dim, length].map(|count| random.sample(family, count));
                let [k, v] = [(), ()].map(|()| random.sample(family, length * dim));
                let is_partial = random.coin();
                let scale = [0.25_f32, 0.3, 1.0][random.below(3)];
                if seed % 8 == 0 {
                    q = Random::new(0).sample(Family::Small, dim);
                    mask.input = reals(&vec![0.0; length]);
                    mask.actual = vec![0.0; length];
                }
                let task = format!(
                    "ATTENTION_TILE F32[1,{dim}] F32[{length},1,{dim}] F32[{length},1,{dim}] F32[{length}] -> F32[1,{}]; head_dim={dim} n_heads=1 n_kv_heads=1 scale={scale} kv_start=0 kv_len={length} flags={}",
                    if is_partial { dim + 2 } else { dim },
                    if is_partial { 2 } else { 0 },
                );
                let values = bounded(&task, &[q.input, k.input, v.input, mask.input]);
                let mut scores = Vec::new();
                let scaled: Vec<f32> = q.actual.iter().map(|q| q * scale).collect();
                let is_scaled_first = random.coin();
                for (k, mask) in k.actual.chunks(dim).zip(&mask.actual) {
                    let score = if is_scaled_first {
                        random.dot(&scaled, k)
                    } else {
                        random.dot(&q.actual, k) * scale
                    };
                    scores.push(score + mask);
                }
                let (max, weights) = random.weights(&scores);
                let denominator = random.sum(weights.clone());
                let column = |d: usize| v.actual.chunks(dim).map(|v| v[d]).collect::<Vec<f32>>();
                let found: Vec<f32> = if is_partial {
                    let sums = (0..dim).map(|d| random.dot(&weights, &column(d)));
                    sums.chain([max, denominator]).collect()
                } else {
                    (0..dim).map(|d| random.mean(&weights, &column(d), denominator)).collect()
                };
                shares.judge(&random, &values, &found, &(family, is_partial));
            }
        }
        shares.assert_tight("ATTENTION_TILE", 0.2);
    }
}
