//! Opcodes that compute each element by itself: ADD, MUL, SILU_MUL, GELU.

use super::bench::{Bench, FROM_F32, Spec, every, most};
use super::data::{
    coded, cycle, exponents, normals, power, precision, reals, rounded, sign, specials, spread, ties,
    uniform, uniforms,
};
use crate::builder::{DType, Result};
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::rule::{Clause, clause};

/// Operands of different dtypes: a, b, output.
const MIXED: &[(DType, DType, DType)] = &[
    (DType::F32, DType::BF16, DType::F16),
    (DType::F8E4M3, DType::F16, DType::F32),
    (DType::BF16, DType::F8E5M2, DType::F8E4M3),
    (DType::F16, DType::F32, DType::BF16),
    (DType::F8E5M2, DType::F32, DType::F8E5M2),
];

// No multiple of a power of two, as elements are often taken by 4 or 8.
const SHAPE: &[u64] = &[3, 63];
const N: usize = 189;

/// ADD.
pub fn add(b: &mut Bench) -> Result<()> {
    for (from, to) in most() {
        let mut prng = b.prng("random", from.name());
        let pair = [normals(&mut prng, N, 3.0), normals(&mut prng, N, 3.0)];
        two(b, "plain", "random", "ordinary numbers", from, to, pair, clause::NUM_05)?;

        let mut prng = b.prng("cancellation", from.name());
        let (x, y) = (0..N).map(|_| nearly_opposite(&mut prng, from)).unzip();
        two(
            b,
            "plain",
            "cancellation",
            "sums much smaller than their terms",
            from,
            to,
            [x, y],
            clause::NUM_05,
        )?;

        let mut prng = b.prng("range", from.name());
        let (low, high) = exponents(from);
        let pair = [spread(&mut prng, N, low, high - 1), spread(&mut prng, N, low, high - 1)];
        two(b, "plain", "range", "terms of very different magnitudes", from, to, pair, clause::NUM_02)?;

        let pair = [coded(from, N), coded(from, N).iter().rev().map(|v| v * 2.0).collect()];
        two(b, "plain", "coded", "every element tells its place", from, to, pair, clause::NUM_05)?;
    }
    for (from, to) in most() {
        two(b, "pairs", "special", "each special value with each", from, to, crossed(from), clause::NUM_03)?;
    }
    for (from, to) in every() {
        // a is a number of the coarser dtype, b half the distance to the next one of the output's: a tie.
        let coarse = if precision(from) < precision(to) { from } else { to };
        let mut prng = b.prng("halfway", &format!("{from}-{to}"));
        let (mut x, mut y) = (Vec::new(), Vec::new());
        while x.len() < N {
            let a = rounded(coarse, uniform(&mut prng, 1.0, 2.0) * power(prng.between(0, 6) as i32));
            let step = megakernel_numerics::ulp(to, a) * if prng.below(4) == 0 { 0.25 } else { 0.5 };
            let step = if prng.below(2) == 0 { step } else { -step };
            let sign = sign(&mut prng);
            if rounded(from, step) == step {
                x.push(a * sign);
                y.push(step * sign);
            } else {
                x.push(a * sign);
                y.push(rounded(from, megakernel_numerics::ulp(to, a)) * sign);
            }
        }
        let spec = Spec::new("plain", "halfway", "sums halfway between two numbers of the output")
            .own_inputs()
            .inputs([reals(from, SHAPE, x), reals(from, SHAPE, y)])
            .output(to, SHAPE);
        b.add(spec.clause(clause::NUM_02))?;
    }
    for &(x, y, to) in MIXED {
        let mut prng = b.prng("mixed", &format!("{x}-{y}"));
        let spec = Spec::new("plain", "mixed", "operands of different dtypes")
            .inputs([
                reals(x, SHAPE, normals(&mut prng, N, 2.0)),
                reals(y, SHAPE, normals(&mut prng, N, 2.0)),
            ])
            .output(to, SHAPE);
        b.add(spec.clause(clause::NUM_01))?;
    }
    Ok(())
}

/// MUL: two inputs; one input with `scale`, with the default, and with a `scale` that two inputs make void.
pub fn mul(b: &mut Bench) -> Result<()> {
    for (from, to) in most() {
        let mut prng = b.prng("random", from.name());
        let pair = [normals(&mut prng, N, 2.0), normals(&mut prng, N, 2.0)];
        two(b, "two", "random", "ordinary numbers", from, to, pair, clause::NUM_05)?;

        let mut prng = b.prng("range", from.name());
        let (low, high) = exponents(from);
        // Half of the exponents each, so that some products are subnormal and none overflows the inputs' dtype.
        let pair = [
            spread(&mut prng, N, low / 2 - 3, high / 2 - 1),
            spread(&mut prng, N, low / 2 - 3, high / 2 - 1),
        ];
        two(
            b,
            "two",
            "range",
            "products from the subnormal numbers to large ones",
            from,
            to,
            pair,
            clause::NUM_02,
        )?;

        let pair = [coded(from, N), cycle(&[1.5, -0.75, 2.0, 0.5, -1.25], N)];
        two(b, "two", "coded", "every element tells its place", from, to, pair, clause::NUM_05)?;

        let mut prng = b.prng("scaled", from.name());
        let values = normals(&mut prng, N, 4.0);
        for (form, scale) in [("scale", Some(0.3)), ("scale-negative", Some(-2.75)), ("no-scale", None)] {
            let mut spec = Spec::new(form, "scaled", "one input, multiplied by `scale` or by 1")
                .input(reals(from, SHAPE, values.clone()))
                .output(to, SHAPE);
            if let Some(scale) = scale {
                spec = spec.param("scale", scale);
            }
            b.add(spec)?;
        }
        for (form, scale) in [("two-and-scale", 7.0), ("two-and-scale-0", 0.0)] {
            let spec = Spec::new(form, "scaled", "two inputs: `scale` has no effect")
                .inputs([reals(from, SHAPE, values.clone()), reals(from, SHAPE, cycle(&[1.0, -2.0, 0.5], N))])
                .output(to, SHAPE)
                .param("scale", scale);
            b.add(spec)?;
        }
    }
    for (from, to) in most() {
        two(b, "pairs", "special", "each special value with each", from, to, crossed(from), clause::NUM_03)?;
    }
    for &(from, to) in FROM_F32.get(1..).unwrap_or_default() {
        let mut prng = b.prng("halfway", &format!("{from}-{to}"));
        let product = ties(&mut prng, from, to, N);
        // A power of two leaves the significand as it is.
        let spec = Spec::new("two", "halfway", "products halfway between two numbers of the output")
            .own_inputs()
            .inputs([
                reals(from, SHAPE, product.iter().map(|v| v * 0.25).collect()),
                reals(from, SHAPE, vec![4.0; N]),
            ])
            .output(to, SHAPE);
        b.add(spec.clause(clause::NUM_02))?;
    }
    for &(x, y, to) in MIXED {
        let mut prng = b.prng("mixed", &format!("{x}-{y}"));
        let spec = Spec::new("two", "mixed", "operands of different dtypes")
            .inputs([
                reals(x, SHAPE, normals(&mut prng, N, 2.0)),
                reals(y, SHAPE, normals(&mut prng, N, 2.0)),
            ])
            .output(to, SHAPE);
        b.add(spec.clause(clause::NUM_01))?;
    }
    Ok(())
}

/// SILU_MUL.
pub fn silu_mul(b: &mut Bench) -> Result<()> {
    for (from, to) in every() {
        // Far out, the sigmoid is 1 or next to 0. Gates of -100 and below overflow exp in binary32.
        let mut prng = b.prng("tails", from.name());
        let mut gate = uniforms(&mut prng, N - 24, -18.0, 18.0);
        gate.extend(cycle(
            &[-40.0, -80.0, -96.0, -104.0, -200.0, 40.0, 88.0, 96.0, 104.0, 200.0, 0.0, -0.0],
            24,
        ));
        let pair = [gate, cycle(&[1.0, -2.0, 16.0, 0.5, 3.0], N)];
        two(
            b,
            "plain",
            "tails",
            "gates far from zero, where exp overflows or vanishes",
            from,
            to,
            pair,
            clause::NUM_07,
        )?;
    }
    for (from, to) in most() {
        let mut prng = b.prng("random", from.name());
        let pair = [normals(&mut prng, N, 2.0), normals(&mut prng, N, 2.0)];
        two(b, "plain", "random", "ordinary numbers", from, to, pair, clause::NUM_07)?;

        let pair = [coded(from, N), coded(from, N).iter().rev().copied().collect()];
        two(b, "plain", "coded", "every element tells its place", from, to, pair, clause::NUM_07)?;

        let mut prng = b.prng("range", from.name());
        let (low, high) = exponents(from);
        let (high, low) = (high.min(12), low.max(-60));
        let pair = [spread(&mut prng, N, low, 3), spread(&mut prng, N, low / 2, high)];
        two(
            b,
            "plain",
            "range",
            "gates and factors of very different magnitudes",
            from,
            to,
            pair,
            clause::NUM_07,
        )?;
    }
    for (from, to) in most() {
        // A gate of minus infinity is the product of an infinity and a zero: NaN, like any NaN operand.
        let mut gate = vec![0.0, -0.0, 1.0, -1.0, f64::NAN, 4.0, 2.0, -3.0];
        let mut up = vec![2.0, 2.0, 0.0, -0.0, 1.0, f64::NAN, 3.0, 0.25];
        if from != DType::F8E4M3 {
            gate.extend([1.0, 2.0, f64::INFINITY, f64::INFINITY]);
            up.extend([f64::INFINITY, f64::NEG_INFINITY, 2.0, -1.0]);
        }
        let shape = [gate.len() as u64];
        let spec = Spec::new("vector", "special", "zeros, infinities and NaN")
            .inputs([reals(from, &shape, gate), reals(from, &shape, up)])
            .output(to, &shape);
        b.add(spec.clause(clause::NUM_03))?;
    }
    for &(x, y, to) in MIXED {
        let mut prng = b.prng("mixed", &format!("{x}-{y}"));
        let spec = Spec::new("plain", "mixed", "operands of different dtypes")
            .inputs([
                reals(x, SHAPE, normals(&mut prng, N, 2.0)),
                reals(y, SHAPE, normals(&mut prng, N, 2.0)),
            ])
            .output(to, SHAPE);
        b.add(spec.clause(clause::NUM_01))?;
    }
    Ok(())
}

/// GELU.
pub fn gelu(b: &mut Bench) -> Result<()> {
    for (from, to) in every() {
        let mut prng = b.prng("random", from.name());
        let values = normals(&mut prng, 256, 1.5);
        one(b, "plain", "random", "ordinary numbers", from, to, &[2, 128], values, clause::NUM_07)?;

        // Between 1 and 4 the exact form and its approximations by tanh or a sigmoid are farthest apart.
        let mut prng = b.prng("knee", from.name());
        let mut values = uniforms(&mut prng, 192, -4.0, -0.5);
        values.extend(uniforms(&mut prng, 192, 0.5, 4.0));
        one(
            b,
            "rows",
            "knee",
            "where approximations differ most from the exact form",
            from,
            to,
            &[6, 64],
            values,
            clause::NUM_07,
        )?;

        let mut prng = b.prng("tails", from.name());
        let mut values = uniforms(&mut prng, 64, -14.0, -4.0);
        values.extend(uniforms(&mut prng, 32, 4.0, 14.0));
        values.extend([-16.0, -40.0, -200.0, 16.0, 40.0, 200.0, 0.0, -0.0]);
        one(b, "tails-104", "tails", "far from zero", from, to, &[104], values, clause::NUM_07)?;

        let (low, _) = exponents(from);
        let mut prng = b.prng("small", from.name());
        // The narrow dtypes have few exponents below 0.
        let values = spread(&mut prng, 96, low - 2, (low + 20).min(-2));
        one(
            b,
            "small-96",
            "small",
            "close to zero, some subnormal",
            from,
            to,
            &[96],
            values,
            clause::NUM_03,
        )?;
    }
    for (from, to) in most() {
        let mut values = vec![0.0, -0.0, f64::NAN, 1.0, -1.0];
        values.extend(specials(from).into_iter().filter(|v| v.abs() < 1.0));
        if from != DType::F8E4M3 {
            values.push(f64::INFINITY);
        }
        let shape = [values.len() as u64];
        one(
            b,
            "vector",
            "special",
            "zeros, subnormal numbers, infinity and NaN",
            from,
            to,
            &shape,
            values,
            clause::NUM_03,
        )?;
    }
    Ok(())
}

#[allow(clippy::too_many_arguments, reason = "one argument for each part of the case")]
fn one(
    b: &mut Bench,
    form: &str,
    data: &'static str,
    about: &str,
    from: DType,
    to: DType,
    shape: &[u64],
    values: Vec<f64>,
    clause: Clause,
) -> Result<()> {
    b.add(Spec::new(form, data, about).input(reals(from, shape, values)).output(to, shape).clause(clause))
}

#[allow(clippy::too_many_arguments, reason = "one argument for each part of the case")]
fn two(
    b: &mut Bench,
    form: &str,
    data: &'static str,
    about: &str,
    from: DType,
    to: DType,
    [x, y]: [Vec<f64>; 2],
    clause: Clause,
) -> Result<()> {
    let shape = if x.len() == N { SHAPE.to_vec() } else { vec![x.len() as u64] };
    let inputs = [reals(from, &shape, x), reals(from, &shape, y)];
    b.add(Spec::new(form, data, about).inputs(inputs).output(to, &shape).clause(clause))
}

/// A number, and one that is its negative but for the last bits.
fn nearly_opposite(prng: &mut SplitMix64, dtype: DType) -> (f64, f64) {
    let x = rounded(dtype, uniform(prng, 1.0, 2.0) * power(prng.between(0, 8) as i32 - 3));
    let steps = prng.below(4) as f64;
    let y = -x - steps * megakernel_numerics::ulp(dtype, x);
    let sign = sign(prng);
    (sign * x, sign * y)
}

/// Some special values of a dtype, each with each.
fn crossed(dtype: DType) -> [Vec<f64>; 2] {
    let all = specials(dtype);
    // Zeros, smallest subnormal, largest, infinities, NaN, one: the neighbours of the ends add nothing here.
    let keep: Vec<f64> = all
        .iter()
        .copied()
        .enumerate()
        .filter(|(index, _)| *index < 4 || *index >= 14 || *index == 8)
        .map(|(_, value)| value)
        .collect();
    let x = keep.iter().flat_map(|value| vec![*value; keep.len()]).collect();
    let y = keep.iter().flat_map(|_| keep.clone()).collect();
    [x, y]
}
