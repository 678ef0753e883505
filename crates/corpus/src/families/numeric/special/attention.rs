//! Special values in attention: each in a sequence of its own, inside the window and in rows that a mask leaves out. And in the
//! partials that ATTENTION_COMBINE merges.

use megakernel_ir::rule::clause;

use super::{ABOUT, ORDINARY, PLACES, big, lines, subnormals, with};
use crate::builder::{DType, Result};
use crate::families::numeric::bench::{Bench, FROM_F32, Pair, Spec};
use crate::families::numeric::data::{ints, power, reals, rounded};

use DType::{BF16, F16, F32};

/// Rows of the window; a row before and a row after it hold NaN.
const ROWS: usize = 4;

/// One sequence with one head of two elements.
#[derive(Clone, Copy)]
struct Sequence {
    q: [f64; 2],
    k: [[f64; 2]; ROWS],
    v: [[f64; 2]; ROWS],
    mask: [f64; ROWS],
}

/// Scores of 0, so that the result is the mean of the values.
const MEAN: Sequence = Sequence {
    q: [1.0, 0.0],
    k: [[0.0; 2]; ROWS],
    v: [[1.0, -2.0], [2.0, 4.0], [-4.0, 0.5], [3.0, 1.0]],
    mask: [0.0; ROWS],
};

impl Sequence {
    fn q(self, q: [f64; 2]) -> Self {
        Self { q, ..self }
    }

    fn k(mut self, row: usize, k: [f64; 2]) -> Self {
        self.k.iter_mut().skip(row).take(1).for_each(|found| *found = k);
        self
    }

    fn v(mut self, row: usize, v: [f64; 2]) -> Self {
        self.v.iter_mut().skip(row).take(1).for_each(|found| *found = v);
        self
    }

    fn keys(self, k: [f64; 2]) -> Self {
        Self { k: [k; ROWS], ..self }
    }

    fn mask(self, row: usize, mask: f64) -> Self {
        Self { mask: with(self.mask, row, mask), ..self }
    }
}

/// What holds for every kind of mask.
fn common(from: DType, row: usize) -> Vec<Sequence> {
    let (nan, inf, [low, high], big) = (f64::NAN, rounded(from, f64::INFINITY), subnormals(from), big(from));
    let far = if from == DType::F8E4M3 { 448.0 } else { 512.0 };
    let mut all = vec![
        MEAN,
        MEAN.v(row, [nan, 1.0]),
        MEAN.v(row, [inf, -inf]),
        MEAN.v(row, [1.0, inf]),
        MEAN.v(row, [high, -high]),
        Sequence { v: [[high, 4.0 * low]; ROWS], ..MEAN },
        MEAN.q([1.0, 1.0]).k(row, [nan, 1.0]),
        MEAN.k(row, [inf, 0.0]),
        MEAN.k(row, [-inf, 0.0]),
        // An element of 0 that meets an infinity or NaN.
        MEAN.k(row, [1.0, inf]),
        MEAN.k(row, [1.0, nan]),
        MEAN.q([inf, 0.0]),
        MEAN.q([nan, 0.0]).k(row, [0.0, 1.0]),
        MEAN.q([inf, 0.0]).keys([1.0, 0.0]),
        MEAN.q([-inf, 1.0]).keys([1.0, 1.0]),
        // Scores of about 1 from a subnormal element.
        MEAN.q([big, 0.0]).k(row, [high, 0.0]),
        MEAN.q([high, 0.0]).k(row, [big, 0.0]),
        // All scores far below 0.
        MEAN.q([far, 0.0]).keys([-far, 0.0]),
        MEAN.q([far, 0.0]).keys([-far, 0.0]).k(row, [1.0 - far, 0.0]),
        MEAN.q([16.0, 0.0]).keys([-32.0, 0.0]),
    ];
    if from == F32 {
        // A product that is subnormal in binary32.
        all.push(MEAN.q([power(-100), 0.0]).k(row, [power(-30), 0.0]));
    }
    all
}

/// Rows that a BOOL mask leaves out, whatever they hold.
fn left_out(from: DType, row: usize) -> Vec<Sequence> {
    let (nan, inf) = (f64::NAN, rounded(from, f64::INFINITY));
    let far = if from == DType::F8E4M3 { 448.0 } else { 512.0 };
    let low = MEAN.q([far, 0.0]).keys([-far, 0.0]);
    [
        MEAN.v(row, [nan, nan]),
        MEAN.v(row, [inf, -inf]),
        MEAN.k(row, [nan, nan]),
        MEAN.k(row, [inf, inf]),
        MEAN.q([0.0, 1.0]).k(row, [1.0, -inf]),
        low,
        low.k(row, [far, 0.0]),
        low.k(row, [nan, 0.0]).v(row, [nan, 1.0]),
        MEAN.q([far, 0.0]).k(row, [far, 0.0]).v(row, [nan, 1.0]),
    ]
    .map(|sequence| sequence.mask(row, 1.0))
    .to_vec()
}

/// Float masks with special values, and with values beside which scores vanish.
fn masked(from: DType, row: usize) -> Vec<Sequence> {
    let (nan, inf) = (f64::NAN, rounded(from, f64::INFINITY));
    let lowest = super::lines::lowest(from);
    vec![
        MEAN.mask(row, nan),
        MEAN.mask(row, inf),
        MEAN.mask(row, -inf),
        MEAN.mask(row, -0.0),
        MEAN.mask(row, lowest),
        Sequence { mask: [lowest; ROWS], ..MEAN },
        Sequence { mask: [-inf; ROWS], ..MEAN }.mask(row, 1.0),
        Sequence { mask: [-inf; ROWS], ..MEAN },
    ]
}

/// NaN and infinities in a row that weighs less and less: as long as its weight is no zero they reach the result.
fn vanishing(from: DType, row: usize) -> Vec<Sequence> {
    let (nan, inf) = (f64::NAN, rounded(from, f64::INFINITY));
    let keys =
        [(16.0, -1.25), (16.0, -2.5), (16.0, -3.75), (16.0, -5.0), (16.0, -5.5), (16.0, -7.5), (32.0, -32.0)];
    let with = |[q, k]: [f64; 2]| {
        [[nan, 1.0], [1.0, inf], [-inf, 2.0]].map(|v| MEAN.q([q, 0.0]).k(row, [k, 0.0]).v(row, v))
    };
    keys.into_iter().flat_map(|(q, k)| with([q, k])).collect()
}

/// The same, by a float mask.
fn vanishing_masked(from: DType, row: usize) -> Vec<Sequence> {
    let inf = rounded(from, f64::INFINITY);
    let with = |mask: f64| [[f64::NAN, 1.0], [1.0, inf]].map(|v| MEAN.v(row, v).mask(row, mask));
    [-20.0, -40.0, -60.0, -80.0, -88.0, -120.0, -240.0].into_iter().flat_map(with).collect()
}

/// How rows are left out.
#[derive(Clone, Copy, PartialEq)]
enum Mask {
    None,
    Bool,
    Float,
}

fn spec(
    form: &str,
    data: &'static str,
    (from, to): Pair,
    mask: Mask,
    sequences: &[Sequence],
    partial: bool,
) -> Spec {
    let n = sequences.len() as u64;
    let cache = |rows: fn(&Sequence) -> [[f64; 2]; ROWS]| {
        let beside = [f64::NAN; 2];
        let all = sequences
            .iter()
            .flat_map(|sequence| [vec![beside], rows(sequence).to_vec(), vec![beside]].concat());
        reals(from, &[n, ROWS as u64 + 2, 1, 2], all.flatten().collect())
    };
    let q = sequences.iter().flat_map(|sequence| sequence.q).collect();
    let shape = [n, ROWS as u64];
    let rows = || sequences.iter().flat_map(|sequence| sequence.mask);
    let mask = match mask {
        Mask::None => None,
        Mask::Bool => Some(ints(DType::Bool, &shape, rows().map(|out| i64::from(out == 0.0)).collect())),
        Mask::Float => Some(reals(from, &shape, rows().collect())),
    };
    let spec = Spec::new(form, data, ABOUT)
        .inputs([reals(from, &[n, 1, 2], q), cache(|sequence| sequence.k), cache(|sequence| sequence.v)])
        .inputs(mask)
        .output(to, &[n, 1, if partial { 4 } else { 2 }])
        .param("head_dim", 2)
        .param("kv_start", 1)
        .param("kv_len", ROWS)
        .param("n_heads", 1)
        .param("n_kv_heads", 1)
        .param("scale", 1.0)
        .clause(clause::NUM_03);
    if partial { spec.param("flags", 2) } else { spec }
}

/// ATTENTION_TILE.
pub fn attention(b: &mut Bench) -> Result<()> {
    in_every_place(b)?;
    super::edges::attention(b)?;
    fine(b)
}

fn in_every_place(b: &mut Bench) -> Result<()> {
    for (data, at) in PLACES {
        let row = [0, 1, 2, 3, 3].get(at).copied().unwrap_or(0);
        type Make = fn(DType, usize) -> Vec<Sequence>;
        let kinds: [(&str, Mask, Make); 5] = [
            ("specials", Mask::None, common),
            ("specials-left-out", Mask::Bool, left_out),
            ("specials-masked", Mask::Float, masked),
            ("vanishing", Mask::None, vanishing),
            ("vanishing-masked", Mask::Float, vanishing_masked),
        ];
        for (form, mask, make) in kinds {
            for (from, to) in super::PAIRS {
                b.add(spec(form, data, (from, to), mask, &make(from, row), false))?;
            }
            for from in [F32, F16, BF16] {
                let form = format!("{form}-partial");
                b.add(spec(&form, data, (from, F32), mask, &make(from, row), true))?;
            }
        }
    }
    Ok(())
}

/// Rows that weigh alike beside one that weighs more, and values of 1: a weight that is a little too small shows in the result.
fn fine(b: &mut Bench) -> Result<()> {
    for step in 0..8_u32 {
        let score = f64::from(3 + 2 * step) / 64.0;
        let (upper, lower) = ([0.5, 0.0], [0.5 - score, 0.0]);
        for (form, one, others) in [("one-above", upper, lower), ("one-below", lower, upper)] {
            let keys = [one.to_vec(), others.repeat(7)].concat();
            let spec = Spec::new(format!("{form}-{step}"), "fine", "weights of 1 and one other number")
                .inputs([reals(F32, &[1, 2], vec![1.0, 0.0])])
                .inputs([reals(F32, &[8, 1, 2], keys), reals(F32, &[8, 1, 2], vec![1.0; 16])])
                .output(F32, &[1, 2])
                .param("head_dim", 2)
                .param("kv_start", 0)
                .param("kv_len", 8)
                .param("n_heads", 1)
                .param("n_kv_heads", 1)
                .param("scale", 1.0);
            b.add(spec.clause(clause::NUM_07).clause(clause::NUM_08))?;
        }
    }
    Ok(())
}

/// ATTENTION_COMBINE.
pub fn combine(b: &mut Bench) -> Result<()> {
    let [_, high] = subnormals(F32);
    let row = |a: [f64; 5], m: f64, l: f64| [a[0], a[1], a[2], a[3], a[4], m, l];
    let empty = row([0.0; 5], f64::NEG_INFINITY, 0.0);
    let add = |b: &mut Bench, (form, data, about): (&str, &'static str, &str), pairs: Vec<[[f64; 7]; 2]>| {
        let swapped: Vec<[[f64; 7]; 2]> = pairs.iter().map(|&[first, second]| [second, first]).collect();
        let all = [pairs, swapped].concat();
        let (n, first) = lines(&all.iter().map(|pair| pair[0]).collect::<Vec<_>>());
        let (_, second) = lines(&all.iter().map(|pair| pair[1]).collect::<Vec<_>>());
        for &(_, to) in FROM_F32 {
            let inputs = [reals(F32, &[n, 7], first.clone()), reals(F32, &[n, 7], second.clone())];
            let spec = Spec::new(form, data, about).inputs(inputs).output(to, &[n, 5]);
            b.add(spec.clause(clause::NUM_03))?;
        }
        Result::Ok(())
    };
    for (data, at) in PLACES {
        // The weight of the special partial is a normal number, or may be flushed.
        let mut vanishing = Vec::new();
        for m in [-20.0, -40.0, -60.0, -80.0, -88.0, -120.0, -1000.0] {
            for value in [f64::NAN, f64::INFINITY] {
                vanishing.push([row(with(ORDINARY, at, value), m, 1.0), row(ORDINARY, 0.0, 1.0)]);
            }
        }
        add(b, ("vanishing", data, "NaN and infinities in a partial that weighs less and less"), vanishing)?;
        // Denominators around the smallest normal number: from 2^-126 on, a sum of them has a reciprocal.
        let scaled = |l: f64| with(ORDINARY, at, 4.0).map(|a| a * l);
        let alone = |l: f64| [row(scaled(l), 0.0, l), empty];
        let mut tiny: Vec<_> =
            [-118, -120, -124, -125, -126, -127, -140, -149].map(|n| alone(power(n))).into();
        tiny.push([row(scaled(power(-127)), 0.0, power(-127)); 2]);
        tiny.push([row(scaled(power(-128)), 0.0, power(-128)), row(scaled(power(-126)), 0.0, power(-126))]);
        tiny.push([row(scaled(1.5 * power(-120)), 3.0, 1.5 * power(-120)), row(ORDINARY, -100.0, 1.0)]);
        tiny.push([row(scaled(power(-120)), 1.0, power(-120)), row(ORDINARY, -49.0, 1.0)]);
        tiny.push([row(scaled(power(120)), 0.0, power(120)), empty]);
        let opposite = scaled(power(100));
        tiny.push([row(opposite, 0.0, power(-40)), row(opposite.map(|a| -a), 0.0, power(-40))]);
        add(b, ("tiny", data, "denominators around the smallest normal number"), tiny)?;
        let alone = |value| with([0.0; 5], at, value);
        let mut pairs = Vec::new();
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0] {
            pairs.push([row(with(ORDINARY, at, value), 0.0, 1.0), row(ORDINARY, 0.0, 1.0)]);
        }
        // Quotients of subnormal numbers: about 1, and subnormal numbers of narrow outputs.
        pairs.push([row(alone(high), 0.0, power(-126)), empty]);
        pairs.push([row(alone(1.0), 3.0, high), empty]);
        pairs.push([row(alone(1.5 * power(-16)), 0.0, 1.0), empty]);
        pairs.push([row(alone(1.5 * power(-8)), 0.0, 1.0), empty]);
        // Maxima far below 0.
        for m in [-200.0, -20_000.0, -200_704.0] {
            pairs.push([row(ORDINARY, m, 1.0), row(alone(4.0), m, 1.0)]);
            pairs.push([row(ORDINARY, m, 2.0), empty]);
        }
        add(b, ("specials", data, ABOUT), pairs)?;
    }
    Ok(())
}
