//! Small amounts that alone reach a result: weights of rows far below the maximum, partials far below another, small angles.

use super::super::bench::{Bench, Spec};
use super::super::data::{power, reals};
use super::count;
use crate::builder::{DType, FLOATS, Op, Result};
use megakernel_ir::rule::clause;

use DType::{BF16, F32};

/// How far below the maximum, and the power of two that makes about 1 of such a weight.
const DISTANCES: [(&str, f64, i32); 6] = [
    ("12", 12.0, 17),
    ("20", 20.0, 29),
    ("25", 25.0, 36),
    ("40", 40.0, 58),
    ("70", 70.0, 101),
    ("85", 85.0, 122),
];

/// The cases of an opcode.
pub fn fill(b: &mut Bench, op: Op) -> Result<()> {
    match op {
        Op::AttentionTile => attention(b),
        Op::AttentionCombine => combine(b),
        Op::Rope => rope(b),
        Op::Softmax => softmax(b),
        _ => Ok(()),
    }
}

fn attention(b: &mut Bench) -> Result<()> {
    let inf = f64::INFINITY;
    for (form, distance, exponent) in DISTANCES {
        for &to in FLOATS {
            for (kind, flags, from) in [("", 0, F32), ("", 0, BF16), ("-partial", 2, F32)] {
                if flags == 2 && to != F32 {
                    continue;
                }
                let spec = |form: String, v: Vec<f64>| {
                    let columns = v.len() as u64 / 4;
                    // The score of the second row of four is below that of the first by the distance, and those of the others by more.
                    let k = [0.0, -distance, -distance - 3.0, -distance - 1.0];
                    let k = k
                        .iter()
                        .flat_map(|&score| (0..columns).map(move |d| if d == 0 { score } else { 0.0 }));
                    let q = (0..columns).map(|d| if d == 0 { 1.0 } else { 0.0 });
                    let y: &[u64] = &[1, columns + flags];
                    Spec::new(form, "small-weights", "rows far below the maximum that alone reach the result")
                        .input(reals(from, &[1, columns], q.collect()))
                        .input(reals(from, &[4, 1, columns], k.collect()))
                        .input(reals(from, &[4, 1, columns], v))
                        .output(to, y)
                        .param("head_dim", columns)
                        .param("kv_start", 0)
                        .param("kv_len", 4)
                        .param("n_heads", 1)
                        .param("n_kv_heads", 1)
                        .param("scale", 1.0)
                        .param("flags", flags)
                        .clause(clause::NUM_07)
                };
                let big = power(exponent);
                let v = vec![0.0, 0.0, big, 0.0, 0.0, 1.5 * big, 0.0, -big];
                b.add(spec(format!("below-{form}{kind}"), v))?;
                let v = vec![0.0, 0.0, inf, 1.0, 0.0, 0.0, 2.0, -inf];
                b.add(spec(format!("infinite-{form}{kind}"), v).clause(clause::NUM_03))?;
            }
        }
    }
    Ok(())
}

fn combine(b: &mut Bench) -> Result<()> {
    for &to in FLOATS {
        for (form, distance, exponent) in DISTANCES {
            let big = power(exponent);
            // Rows: the small partial first, and last.
            let live = [0.0, 0.0, 0.0, 1.0];
            let small = [big, -2.0 * big, -distance, 1.0];
            let rows = [[live, small].concat(), [small, live].concat(), [live, live].concat()];
            let spec = Spec::new(
                format!("below-{form}"),
                "small-weights",
                "a partial far below another alone reaches the result",
            )
            .inputs(rows.map(|values| reals(F32, &[2, 4], values)))
            .output(to, &[2, 2]);
            b.add(spec.clause(clause::NUM_07))?;
        }
        for (form, sum) in [("1e31", 1e31), ("2e34", 2e34), ("1e37", 1e37)] {
            let rows = [[sum, -0.5 * sum, 0.0, sum], [0.25 * sum, sum, -1.0, 2.0 * sum]];
            let spec = Spec::new(format!("sum-{form}"), "large-sums", "denominators far above 1")
                .inputs(rows.map(|values| reals(F32, &[1, 4], values.to_vec())))
                .output(to, &[1, 2]);
            b.add(spec.clause(clause::NUM_08))?;
        }
        // Rows of which all partials are empty, between others.
        let empty = [0.0, 0.0, f64::NEG_INFINITY, 0.0];
        let (a, c) = ([3.0, -1.0, 0.5, 2.0], [1.0, 2.0, -0.5, 1.5]);
        for parts in [2_usize, 3, 7] {
            let first = [a, empty, c, empty, empty].concat();
            let other = [c, empty, empty, empty, a].concat();
            let inputs = (0..parts).map(|part| {
                let values = if part % 2 == 0 { first.clone() } else { other.clone() };
                reals(F32, &[5, 4], values)
            });
            let spec = Spec::new(
                format!("empty-rows-{parts}"),
                "empty",
                "rows of which all partials are empty, not the first",
            )
            .inputs(inputs)
            .output(to, &[5, 2]);
            b.add(spec)?;
        }
    }
    Ok(())
}

fn rope(b: &mut Bench) -> Result<()> {
    // Wherever an angle is small, the sine of it times 2^shift is the result.
    for from in [F32, BF16] {
        for &to in FLOATS {
            for (form, theta, shift) in [("1e6", 1e6, 10), ("1e8", 1e8, 12), ("1e12", 1e12, 16)] {
                let mut x = vec![0.0; 64];
                x.iter_mut().take(32).for_each(|value| *value = power(shift));
                let mut back = x.clone();
                back.rotate_left(32);
                let spec = Spec::new(
                    format!("theta-{form}"),
                    "small-angles",
                    "angles far below 1, of which the sine alone shows",
                )
                .input(reals(from, &[2, 1, 64], [x, back].concat()))
                .input(count(1, &[2]))
                .output(to, &[2, 1, 64])
                .param("head_dim", 64)
                .param("theta", theta);
                b.add(spec.clause(clause::NUM_05))?;
            }
        }
    }
    Ok(())
}

fn softmax(b: &mut Bench) -> Result<()> {
    for from in [F32, BF16] {
        for to in [F32, BF16] {
            let far = [0.0, -12.0, -20.0, -25.0, -31.0, -40.0, -61.0, -70.0, -81.0, -84.0];
            let near = far.map(|x| x + 30.0);
            let spec = Spec::new(
                "far",
                "small-weights",
                "elements far below the maximum, whose results are as small",
            )
            .input(reals(from, &[2, 10], [far, near].concat()))
            .output(to, &[2, 10]);
            b.add(spec.clause(clause::NUM_07))?;
        }
    }
    Ok(())
}
