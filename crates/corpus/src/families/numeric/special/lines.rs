//! Special values in opcodes that go along a line: norms, SOFTMAX, ROPE, SAMPLE_ARGMAX.

use megakernel_ir::rule::clause;

use super::{ABOUT, ORDINARY, PLACES, big, each, lines, subnormals, values, with};
use crate::builder::{DType, FLOATS, Result};
use crate::families::numeric::bench::{Bench, Spec};
use crate::families::numeric::data::{Values, ints, reals, rounded};

/// RMSNORM: a special value in one element of a row, and one in each of several columns of the weight.
pub fn rmsnorm(b: &mut Bench) -> Result<()> {
    each(b, |data, at, (from, to)| {
        let [low, high] = subnormals(from);
        let mut w = [big(from), f64::NAN, f64::INFINITY, low, -high, 1.0, -2.0, 0.5];
        w.rotate_right(at);
        let ordinary = [1.0, -2.0, 0.5, 3.0, -1.5, 2.0, -0.5, 1.0];
        let mut rows = vec![ordinary, [0.0; 8]];
        rows.extend(values(from).into_iter().map(|value| with(ordinary, (5 + at) % 8, value)));
        rows.extend([low, -high].map(|value| with([0.0; 8], at, value)));
        let (n, x) = lines(&rows);
        Spec::new("specials", data, ABOUT)
            .inputs([reals(from, &[n, 8], x), reals(from, &[8], w.to_vec())])
            .output(to, &[n, 8])
            .param("eps", 1.0)
            .param("hidden", 8)
    })
}

/// LAYERNORM: a special value in one element of a run, and one in each of several columns of weight and bias.
pub fn layernorm(b: &mut Bench) -> Result<()> {
    each(b, |data, at, (from, to)| {
        let [low, high] = subnormals(from);
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let mut w = [big(from), nan, inf, low, -high, 1.0, 1.0, 0.0, 0.0, 1.0];
        let mut bias = [0.0, 0.0, 0.0, 0.0, 0.0, nan, inf, low, -high, 0.5];
        w.rotate_right(at);
        bias.rotate_right(at);
        let ordinary = [1.0, -2.0, 0.5, 3.0, -1.5, 2.0, -0.5, 1.0, -1.0, 0.25];
        let mut rows = vec![ordinary, [2.0; 10]];
        rows.extend(values(from).into_iter().map(|value| with(ordinary, (9 + at) % 10, value)));
        // The quotient of a deviation below 2^-126 may be flushed to zero.
        if !matches!(from, DType::F32 | DType::BF16) {
            rows.extend([low, -high].map(|value| with([0.0; 10], at, value)));
        }
        let (n, x) = lines(&rows);
        let inputs =
            [reals(from, &[n, 10], x), reals(from, &[10], w.to_vec()), reals(from, &[10], bias.to_vec())];
        let spec = Spec::new("specials", data, ABOUT).inputs(inputs).output(to, &[n, 10]);
        spec.param("eps", 1.0).param("hidden", 10)
    })
}

/// A number below what an implementer may begin the search for a maximum with, as far as a dtype has one.
pub fn lowest(dtype: DType) -> f64 {
    match dtype {
        DType::F8E4M3 => -448.0,
        DType::F8E5M2 => -57_344.0,
        DType::F16 => -65_504.0,
        _ => -200_704.0,
    }
}

/// SOFTMAX: special values among zeros, lines of one value, results that are subnormal.
pub fn softmax(b: &mut Bench) -> Result<()> {
    each(b, |data, at, (from, to)| {
        let mut rows: Vec<[f64; 5]> =
            values(from).into_iter().map(|value| with([0.0; 5], at, value)).collect();
        rows.extend([ORDINARY, [rounded(from, f64::NEG_INFINITY); 5], [lowest(from); 5], [-0.0; 5]]);
        rows.extend([-5.0, -10.0].map(|low| with([low; 5], at, 0.0)));
        let (n, x) = lines(&rows);
        Spec::new("specials", data, ABOUT).input(reals(from, &[n, 5], x)).output(to, &[n, 5])
    })
}

/// ROPE: special values in each half of a pair, at position 0 and at another one.
pub fn rope(b: &mut Bench) -> Result<()> {
    each(b, |data, at, (from, to)| {
        let place = [0, 1, 1, 2, 3].get(at).copied().unwrap_or(0);
        let (mut rows, mut positions) = (Vec::new(), Vec::new());
        for value in values(from) {
            let rest = if value.abs() < 1.0 { [0.0; 4] } else { [1.0, -2.0, 0.5, 3.0] };
            for position in [0, 1] {
                rows.push(with(rest, place, value));
                positions.push(position);
            }
        }
        let (n, x) = lines(&rows);
        Spec::new("specials", data, ABOUT)
            .inputs([reals(from, &[n, 1, 4], x), ints(DType::I32, &[n], positions)])
            .output(to, &[n, 1, 4])
            .param("head_dim", 4)
            .param("theta", 10_000.0)
    })
}

/// SAMPLE_ARGMAX: the largest logit is infinite, subnormal, or below what a search may begin with.
pub fn argmax(b: &mut Bench) -> Result<()> {
    for (data, at) in PLACES {
        // The first place is what a search that finds nothing ends with.
        let at = at.max(1);
        for &from in FLOATS {
            let [low, high] = subnormals(from);
            let least = lowest(from);
            let mut rows = vec![
                with([0.0; 5], at, low),
                with([-1.0; 5], at, high),
                with([-1.0; 5], at, -high),
                with([-1.0; 5], at, -0.5),
                with([least; 5], at, 0.75 * least),
            ];
            if from != DType::F8E4M3 {
                let finite = super::super::data::extremes(from).into_iter().fold(0.0, f64::min);
                rows.push(with(ORDINARY, at, f64::INFINITY));
                rows.push(with([f64::NEG_INFINITY; 5], at, 1.0));
                rows.push(with([f64::NEG_INFINITY; 5], at, finite));
            }
            let (n, logits) = lines(&rows);
            let known = Values::Ints(vec![at as i64; rows.len()]);
            let spec = Spec::new("specials", data, ABOUT)
                .input(reals(from, &[n, 5], logits))
                .output(DType::I32, &[n]);
            b.add(spec.known(known).clause(clause::NUM_03))?;
        }
    }
    Ok(())
}
