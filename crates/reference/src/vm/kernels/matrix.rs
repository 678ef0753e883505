//! GEMV_TILE and GEMM_TILE (clauses OPC-05 and OPC-06): rows of x times rows of a weight, plain or quantised.

use std::ops::Range;

use megakernel_ir::{Opcode, Param};

use super::dot::dot;
use super::view::{Line, last};
use super::{Kernel, TaskView, Written, quant, view};
use crate::vm::bounded::{Bounded, LARGEST, TINY, UNIT, lowest_bit};
use crate::vm::sum::Sum;

/// Both opcodes; GEMV_TILE takes all rows of x.
pub(super) struct Matrix;

impl Kernel for Matrix {
    fn run(&self, task: &TaskView<'_>) -> Written {
        let x = task.reals(0);
        let width = last(task.shape(0));
        let part = |start, length| {
            let start = task.size(start);
            start..start.saturating_add(task.size(length))
        };
        let rows = match task.opcode {
            Opcode::GemmTile => part(Param::MOff, Param::MTile),
            _ => 0..x.len().checked_div(width).unwrap_or(0),
        };
        let rows: Vec<Line<'_>> = rows.map(|row| x.row(row, width)).collect();
        let columns = part(Param::NOff, Param::NTile);
        Written::Reals(match task.params.get(Param::QDType) {
            None => plain(task, &rows, columns, width),
            Some(_) => quantised(task, &rows, columns, width),
        })
    }
}

fn plain(task: &TaskView<'_>, rows: &[Line<'_>], columns: Range<usize>, width: usize) -> Vec<Bounded> {
    let (w, bias) = (task.reals(1), task.reals(2));
    let mut values = Vec::with_capacity(rows.len().saturating_mul(columns.len()));
    for &x in rows {
        for column in columns.clone() {
            let mut sum = dot(x, w.row(column, width));
            sum.push(bias.at(column));
            values.push(sum.finish(task.unit, 1.0));
        }
    }
    values
}

fn quantised(task: &TaskView<'_>, rows: &[Line<'_>], columns: Range<usize>, width: usize) -> Vec<Bounded> {
    let weights = quant::Weights::of(task, 1, width);
    let group = task.size(Param::Group);
    let groups = if weights.has_zeros() { width.div_ceil(group.max(1)) } else { 0 };
    let count = columns.len();
    let mut values = vec![Bounded::UNSPECIFIED; rows.len().saturating_mul(count)];
    for (offset, row) in columns.enumerate() {
        let row = WeightRow::of(&weights, row, width, group);
        for (index, &x) in rows.iter().enumerate() {
            if let Some(value) = values.get_mut(view::index(index, count, offset)) {
                *value = row.dot(x, groups, task.unit);
            }
        }
    }
    values
}

/// A row of weights `(q - zero) * scale`.
struct WeightRow {
    weights: Vec<Weight>,
    /// All are finite and without error.
    is_exact: bool,
    /// The sum of the magnitudes of the scales.
    scales: f64,
}

struct Weight {
    /// The weight, before it is rounded.
    value: Bounded,
    /// At least `(|q| + |zero|) * |scale|`: what products and sums of parts of it amount to.
    magnitude: f64,
    /// The same without the scale.
    unscaled: f64,
    q: f64,
    zero: f64,
    scale: f64,
}

impl Weight {
    fn of(q: f64, zero: Bounded, scale: Bounded) -> Weight {
        let unscaled = q.abs() + zero.magnitude();
        let magnitude = unscaled * scale.magnitude();
        let mut value = Bounded { v: q - zero.v, e: zero.e }.product(scale);
        // Infinite parts meet zeros in one arrangement and not in another.
        if !scale.is_nan() && !zero.is_nan() && (magnitude.is_nan() || magnitude > LARGEST) {
            value = Bounded::UNSPECIFIED;
        }
        Weight { value, magnitude, unscaled, q, zero: zero.v, scale: scale.v }
    }

    /// A power of two of which `x * q * scale` and `x * zero * scale` are multiples; 0 where a product on the way to them
    /// underflows.
    fn grid(&self, x: f64) -> f64 {
        let bit = |part: f64| if part == 0.0 { f64::INFINITY } else { lowest_bit(part) };
        let (q, zero, scale, x) = (bit(self.q), bit(self.zero), bit(self.scale), bit(x));
        // A zero meets the scale first, or x. The integer q takes neither below what it was.
        if x.max(scale) < f64::INFINITY && zero * scale.min(x) < 2.0 * TINY {
            return 0.0;
        }
        // Of two parts that are zero there is no multiple, whatever the factors.
        q.min(zero) * scale * x
    }
}

impl WeightRow {
    fn of(weights: &quant::Weights<'_>, row: usize, width: usize, group: usize) -> WeightRow {
        let weights: Vec<Weight> = (0..width)
            .map(|column| {
                let group = column.checked_div(group).unwrap_or(0);
                Weight::of(weights.q(row, column), weights.zero(row, group), weights.scale(row, group))
            })
            .collect();
        let is_exact = weights.iter().all(|weight| weight.value.is_exact() && weight.value.v.is_finite());
        let scales = weights.iter().map(|weight| weight.scale.abs()).sum();
        WeightRow { weights, is_exact, scales }
    }

    /// The weights may be formed first, or the groups of `x * q` and of x be summed first: that takes one
    /// addition more for each group that has a zero, and roundings of the weight, its parts and the product.
    fn dot(&self, x: Line<'_>, groups: usize, unit: f64) -> Bounded {
        let sum = match (self.is_exact, x.bounds) {
            (true, None) => self.exact_terms(x.values),
            _ => None,
        };
        let sum = sum.unwrap_or_else(|| self.terms(x, groups));
        let value = sum.finish(unit, 3.0 + groups as f64);
        if value.is_nan() {
            return value;
        }
        // Sums of x * q, and with zeros those of x, come before the scale, and may overflow even if what they are a part of
        // is exact, or infinite by another x.
        let (mut unscaled, mut size) = (0.0, 0.0);
        for (x, weight) in x.iter().zip(&self.weights).filter(|(x, _)| x.v.is_finite()) {
            unscaled += x.magnitude() * weight.unscaled;
            size += x.magnitude();
        }
        let largest = if groups > 0 { unscaled.max(size) } else { unscaled };
        if largest.is_nan() || largest > LARGEST {
            return Bounded::UNSPECIFIED;
        }
        if sum.is_exact() { value } else { value.widened(2.0 * TINY * (size + self.scales)) }
    }

    fn terms(&self, x: Line<'_>, groups: usize) -> Sum {
        let mut sum = Sum::new();
        for (x, weight) in x.iter().zip(&self.weights) {
            let is_apart = groups > 0 && x.v.is_infinite();
            let term = if is_apart { Bounded::UNSPECIFIED } else { x.product(weight.value) };
            sum.push_as(term, x.magnitude() * weight.magnitude, weight.grid(x.v));
        }
        sum
    }

    /// The common case, with the same result; nothing where an x is infinite or NaN, or a sum overflows.
    fn exact_terms(&self, x: &[f64]) -> Option<Sum> {
        let (mut v, mut magnitude, mut count) = (0.0, 0.0, 0_u64);
        for (x, weight) in x.iter().zip(&self.weights) {
            let size = x.abs() * weight.magnitude;
            v += x * weight.value.v;
            magnitude += size;
            count += u64::from(size != 0.0);
        }
        if magnitude.is_nan() || magnitude > LARGEST {
            return None;
        }
        let mut grid = f64::INFINITY;
        for (&x, weight) in x.iter().zip(&self.weights) {
            grid = grid.min(weight.grid(x));
            if grid < magnitude * UNIT {
                grid = 0.0;
                break;
            }
        }
        let mut sum = Sum::new();
        sum.push_exact(v, magnitude, count, grid);
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::bounded::TRUNCATING_UNIT;
    use crate::vm::kernels::testing::{
        FAMILIES, Family, Input, Random, Shares, assert_exact, bounded, bounded_with, ints, reals, specified,
    };

    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;

    #[test]
    fn tiles_select_rows_and_columns() {
        let x = reals(&[1.0, 2.0, 3.0, 4.0]);
        let w = reals(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 5.0, -1.0]);
        let bias = reals(&[0.0, 10.0, 20.0, 30.0]);
        let inputs = [x, w, bias];
        let task = "GEMV_TILE F32[2,2] F32[4,2] F32[4] -> F32[2,4]; K=2 N_tile=2 n_off=1";
        assert_exact(task, &inputs, &[12.0, 23.0, 14.0, 27.0]);
        let task = "GEMM_TILE F32[2,2] F32[4,2] F32[4] -> F32[2,4]; K=2 N_tile=3 n_off=1 M_tile=1 m_off=1";
        assert_exact(task, &inputs, &[14.0, 27.0, 41.0]);
        let task = "GEMV_TILE F32[2,1,2] F32[4,2] -> F32[1,2,4]; K=2 N_tile=1 n_off=3";
        assert_exact(task, &inputs[..2], &[3.0, 11.0]);
    }

    #[test]
    fn integers_sum_up_exactly_until_binary32_cannot_hold_them() {
        let ones = vec![1.0; 8192];
        let task = "GEMV_TILE BF16[1,8192] BF16[1,8192] -> BF16[1,1]; K=8192 N_tile=1 n_off=0";
        let with = |value: f64| [reals(&vec![value; 8192]), reals(&ones)];
        assert_exact(task, &with(2048.0), &[16_777_216.0]);
        assert_exact(task, &with(2047.0), &[2047.0 * 8192.0]);
        let beyond = bounded(task, &with(2049.0))[0];
        assert!(beyond.v == 2049.0 * 8192.0 && beyond.e > 0.0);
    }

    #[test]
    fn zeros_among_the_products_do_not_count() {
        let x = [1.5, 0.0, 0.0, 1.1f32.into()];
        let task = "GEMV_TILE F32[1,4] F32[1,4] -> F32[1,1]; K=4 N_tile=1 n_off=0";
        assert_exact(task, &[reals(&x), reals(&[0.25, 1.0, 1.0, 0.0])], &[0.375]);
        let two = bounded(task, &[reals(&x), reals(&[0.3f32.into(), 1.0, 1.0, 0.7f32.into()])])[0];
        // Two products and one addition.
        assert!(two.e > 2.0 * UNIT * two.v && two.e < 2.001 * UNIT * two.v);
    }

    #[test]
    fn a_truncating_accumulator_takes_four_times_the_unit() {
        let mut random = Random::new(0);
        let [x, w] = [(), ()].map(|()| random.sample(Family::Plain, 64).input);
        let task = "GEMM_TILE F32[1,64] F32[1,64] -> F32[1,1]; K=64 N_tile=1 n_off=0 M_tile=1";
        let [narrow, wide] =
            [UNIT, TRUNCATING_UNIT].map(|unit| bounded_with(task, &[x.clone(), w.clone()], unit)[0]);
        assert!(narrow.v == wide.v && wide.e > 3.9 * narrow.e && wide.e < 4.1 * narrow.e);
    }

    #[test]
    fn special_values() {
        let task = "GEMV_TILE F32[2,2] F32[3,2] F32[3] -> F32[2,3]; K=2 N_tile=3 n_off=0";
        let x = reals(&[INF, 1.0, NAN, 1.0]);
        let w = reals(&[1.0, 2.0, 0.0, 1.0, 2.0, -INF]);
        let bias = reals(&[0.0, 0.0, 1.0]);
        assert_exact(task, &[x, w, bias], &[INF, NAN, NAN, NAN, NAN, NAN]);
        let task = "GEMV_TILE F32[1,2] F32[1,2] -> F32[1,1]; K=2 N_tile=1 n_off=0";
        assert_eq!(specified(task, &[reals(&[1e30, 1e30]), reals(&[1e30, -1e30])]), [false]);
        assert_eq!(specified(task, &[reals(&[1e30, INF]), reals(&[1e30, -1.0])]), [false]);
        let inexact = Input::Bounded(vec![0.5, 1.0], vec![0.5, 0.0]);
        assert_eq!(specified(task, &[inexact, reals(&[INF, 1.0])]), [false]);
    }

    #[test]
    fn quantised_weights_in_every_storage() {
        // Columns 0, 1 and 2 have one scale, column 3 another: the last group is short.
        let x = reals(&[1.0, 2.0, 3.0, 4.0]);
        let scales = reals(&[0.5, 2.0]);
        let expected = |zero: [f64; 2]| {
            let q = [-8.0, 7.0, 1.0, -3.0];
            let part = |k: usize, g: usize| f64::from(k as u8 + 1) * (q[k] - zero[g]) * [0.5, 2.0][g];
            part(0, 0) + part(1, 0) + part(2, 0) + part(3, 1)
        };
        let params = "K=4 N_tile=1 n_off=0 group=3";
        for (storage, qdtype, q) in [
            ("I8[1,4]", 6, ints(&[-8, 7, 1, -3])),
            ("I4[1,4]", 7, ints(&[0, 15, 9, 5])),
            ("U8[1,2]", 7, ints(&[0xf0, 0x59])),
        ] {
            let task = format!("GEMV_TILE F32[1,4] {storage} F32[1,2] -> F32[1,1]; {params} qdtype={qdtype}");
            assert_exact(&task, &[x.clone(), q.clone(), scales.clone()], &[expected([0.0, 0.0])]);
            for (zeros, values) in
                [("U8", ints(&[200, 3])), ("I8", ints(&[-7, 5])), ("F16", reals(&[0.5, -2.0]))]
            {
                let task = format!(
                    "GEMM_TILE F32[1,4] {storage} F32[1,2] {zeros}[1,2] -> F32[1,1]; {params} qdtype={qdtype} M_tile=1"
                );
                let zero = match &values {
                    Input::Reals(values) => [values[0], values[1]],
                    Input::Ints(values) => [values[0] as f64, values[1] as f64],
                    Input::Bounded(..) => [NAN; 2],
                };
                assert_exact(&task, &[x.clone(), q.clone(), scales.clone(), values], &[expected(zero)]);
            }
        }
    }

    #[test]
    fn quantised_tiles_select_their_scales() {
        let x = reals(&[1.0, 1.0]);
        let q = ints(&[1, 1, 2, 2, 3, 3]);
        let scales = reals(&[1.0, 10.0, 100.0, 1000.0, 1.0, 2.0]);
        let task = "GEMV_TILE F32[1,2] I8[3,2] F32[3,2] -> F32[1,3]; K=2 N_tile=2 n_off=1 group=1 qdtype=6";
        assert_exact(task, &[x, q, scales], &[2200.0, 9.0]);
    }

    #[test]
    fn infinite_parts_of_quantised_weights() {
        let task =
            "GEMV_TILE F32[1,2] I8[1,2] F32[1,1] I8[1,1] -> F32[1,1]; K=2 N_tile=1 n_off=0 group=2 qdtype=6";
        let with = |x: [f64; 2], scale: f64| [reals(&x), ints(&[1, 2]), reals(&[scale]), ints(&[1])];
        assert_eq!(specified(task, &with([1.0, 1.0], INF)), [false]);
        assert_eq!(specified(task, &with([INF, 1.0], 1.0)), [false]);
        assert!(bounded(task, &with([NAN, 1.0], 1.0))[0].v.is_nan());
        let task = "GEMV_TILE F32[1,2] I8[1,2] F32[1,1] -> F32[1,1]; K=2 N_tile=1 n_off=0 group=2 qdtype=6";
        assert_exact(task, &[reals(&[INF, 1.0]), ints(&[1, 2]), reals(&[1.0])], &[INF]);
    }

    #[test]
    fn sums_that_overflow_before_the_scale_leave_nothing_specified() {
        let task = "GEMV_TILE F32[1,3] I8[1,3] F32[1,1] -> F32[1,1]; K=3 N_tile=1 n_off=0 group=3 qdtype=6";
        let large = 2f64.powi(126);
        let with = |x: [f64; 3], q: [i64; 3]| [reals(&x), ints(&q), reals(&[2f64.powi(-40)])];
        // Exact, with the scale or without.
        assert_exact(task, &with([large, large / 2.0, 0.0], [1, 1, 0]), &[1.5 * 2f64.powi(86)]);
        // Exact with the scale alone.
        assert_eq!(specified(task, &with([large, large, 0.0], [2, 2, 0])), [false]);
        assert_eq!(specified(task, &with([large, large, 0.0], [2, -2, 0])), [false]);
        // An infinity that meets one of the other sign.
        assert_exact(task, &with([INF, large, 0.0], [1, -1, 0]), &[INF]);
        assert_eq!(specified(task, &with([INF, large, 0.0], [1, -4, 0])), [false]);
        assert_exact(task, &with([NAN, large, 0.0], [1, -4, 0]), &[NAN]);
        // With zeros, the sum of x alone.
        let task = task.replace("F32[1,1] ->", "F32[1,1] F32[1,1] ->");
        let with = |x: f64, zero: f64| {
            [reals(&[x, x, x]), ints(&[0, 0, 0]), reals(&[2f64.powi(-40)]), reals(&[zero])]
        };
        assert_exact(&task, &with(large / 2.0, 0.5), &[-1.5 * 2f64.powi(85)]);
        assert_eq!(specified(&task, &with(1.5 * large, 0.5)), [false]);
    }

    #[test]
    fn zeros_that_underflow_with_a_scale_are_not_exact() {
        let task =
            "GEMV_TILE F32[1,1] I8[1,1] F32[1,1] F32[1,1] -> F32[1,1]; K=1 N_tile=1 n_off=0 group=1 qdtype=6";
        let with = |x: i32, scale: i32, zero: i32| {
            let [x, scale, zero] = [x, scale, zero].map(|n| reals(&[2f64.powi(n)]));
            bounded(task, &[x, ints(&[0]), scale, zero])[0]
        };
        // Each is -2^-135; of the last two a product on the way is below 2^-149.
        assert_eq!(with(0, -115, -20), Bounded::exact(-2f64.powi(-135)));
        let scaled = with(20, -125, -30);
        assert!(scaled.v == -2f64.powi(-135) && scaled.e >= 2f64.powi(-135), "{scaled:?}");
        let first = with(-125, 20, -30);
        assert!(first.v == -2f64.powi(-135) && first.e >= 2f64.powi(-135), "{first:?}");
    }

    #[test]
    fn binary32_stays_within_the_bound() {
        let mut shares = Shares::default();
        for seed in 0..300 {
            let mut random = Random::new(seed);
            for family in FAMILIES {
                let k = 1 + random.below(40);
                let [x, w] = [2 * k, 3 * k].map(|count| random.sample(family, count));
                let bias = random.sample(family, 3);
                let task = format!(
                    "GEMM_TILE F32[2,{k}] F32[3,{k}] F32[3] -> F32[2,3]; K={k} N_tile=3 n_off=0 M_tile=2"
                );
                let values = bounded(&task, &[x.input, w.input, bias.input]);
                let mut found = Vec::new();
                for x in x.actual.chunks(k) {
                    for (w, bias) in w.actual.chunks(k).zip(&bias.actual) {
                        found.push(random.dot(x, w) + bias);
                    }
                }
                shares.judge(&random, &values, &found, &family);
            }
        }
        shares.assert_tight("GEMM_TILE", 0.5);
    }

    #[test]
    fn quantised_binary32_stays_within_the_bound() {
        let mut shares = Shares::default();
        for seed in 0..300 {
            let mut random = Random::new(seed);
            for family in FAMILIES {
                let (k, group) = (1 + random.below(24), 1 + random.below(9));
                let groups = k.div_ceil(group);
                let q = random.integers(k, -128, 127);
                let x = random.sample(family, k);
                let [scales, zeros] = [(), ()].map(|()| random.sample(Family::Plain, groups));
                let task = format!(
                    "GEMV_TILE F32[{k}] I8[1,{k}] F32[1,{groups}] F32[1,{groups}] -> F32[1]; K={k} N_tile=1 n_off=0 group={group} qdtype=6"
                );
                let values = bounded(&task, &[x.input, ints(&q), scales.input, zeros.input]);
                let q: Vec<f32> = q.iter().map(|&q| q as f32).collect();
                let found = if random.coin() {
                    let weight = |k: usize| (q[k] - zeros.actual[k / group]) * scales.actual[k / group];
                    let weights: Vec<f32> = (0..k).map(weight).collect();
                    random.dot(&x.actual, &weights)
                } else {
                    let mut parts = Vec::new();
                    for (g, (x, q)) in x.actual.chunks(group).zip(q.chunks(group)).enumerate() {
                        let (scale, zero) = (scales.actual[g], zeros.actual[g]);
                        parts.push(random.dot(x, q) * scale);
                        parts.push(-(zero * scale * random.sum(x.to_vec())));
                    }
                    random.sum(parts)
                };
                shares.judge(&random, &values, &[found], &family);
            }
        }
        shares.assert_tight("GEMV_TILE quantised", 0.2);
    }
}
