//! Parameters at their edges: positions and bases, eps, scales, lines and windows of one element.

use megakernel_ir::rule::clause;

use super::lines as joined;
use super::{ABOUT, big, subnormals, values, with};
use crate::builder::{DType, FLOATS, Result};
use crate::families::numeric::bench::{Bench, Pair, Spec, every};
use crate::families::numeric::data::{Values, coded, ints, numel, power, reals, rounded};

use DType::{F8E4M3, F32};

/// ROPE: positions below 0 and beyond 2^16, bases below 1 and beyond 10 million.
pub fn rope(b: &mut Bench) -> Result<()> {
    let forms: [(&str, &str, &[i64], f64, u64); 5] = [
        ("negative", "positions below 0", &[-1, -2, -7, -300, -4097], 10_000.0, 6),
        ("beyond-16-bits", "positions beyond 2^16", &[65_537, 70_001, 99_999, 200_003, -65_537], 1e6, 6),
        // The second frequency is 1e-9.
        (
            "ends",
            "the ends of what a position can be",
            &[i32::MAX as i64, i32::MIN as i64, 1 << 30, -(1 << 30)],
            1e18,
            4,
        ),
        ("theta-quarter", "a base below 1: frequencies grow", &[1, 3, -2, 9], 0.25, 8),
        ("theta-small", "a base far below 1", &[1, -3, 10], 0.001, 6),
    ];
    for (form, about, positions, theta, dim) in forms {
        for (from, to) in every() {
            let shape = [positions.len() as u64, 1, dim];
            let x = (0..numel(&shape)).map(|i| [1.0, -2.0, 1.5, 0.5, 3.0][i % 5]).collect();
            let spec = Spec::new(form, "edges", about)
                .inputs([
                    reals(from, &shape, x),
                    ints(DType::I32, &[positions.len() as u64], positions.to_vec()),
                ])
                .output(to, &shape)
                .param("head_dim", dim)
                .param("theta", theta);
            b.add(spec.clause(clause::NUM_07))?;
        }
    }
    Ok(())
}

/// Rows for a norm with some eps: zeros, numbers beside which eps counts, ordinary ones.
fn rows(from: DType) -> (u64, Vec<f64>) {
    let small = super::super::data::exponents(from).0.max(-20);
    let near = [1.0, -1.5, 0.5, 2.0].map(|value| value * power(small));
    joined(&[[0.0; 4], near, near.map(|value| value * 0.5), [1.0, -2.0, 0.5, 3.0], [2.0; 4]])
}

/// One kind of a norm at the edges: form, what it shows, eps.
const EPS: [(&str, &str, f64); 3] = [
    ("eps-tiny", "an eps that 16-bit floats do not have, beside zeros", 2e-8),
    ("eps-0", "eps of 0, beside zeros", 0.0),
    ("eps-large", "an eps beside which ordinary numbers vanish", 1e6),
];

fn of_norm(b: &mut Bench, bias: bool) -> Result<()> {
    let norm = |form: &str, about: &str, (from, to): Pair, (n, x): (u64, Vec<f64>), hidden: u64, eps: f64| {
        let w: Vec<f64> = [2.0, -1.0, 0.5, 1.5].into_iter().take(hidden as usize).collect();
        let operand = |values: &[f64]| reals(from, &[hidden], values.to_vec());
        let bias = bias.then(|| operand(&w.iter().map(|w| 1.0 - w).collect::<Vec<_>>()));
        Spec::new(form, "edges", about)
            .inputs([reals(from, &[n, hidden], x), operand(&w)])
            .inputs(bias)
            .output(to, &[n, hidden])
            .param("eps", eps)
            .param("hidden", hidden)
            .clause(clause::NUM_08)
    };
    for pair in every() {
        for (form, about, eps) in EPS {
            b.add(norm(form, about, pair, rows(pair.0), 4, eps))?;
        }
        let alone = [values(pair.0), vec![1.0, -3.0, 0.0, 0.5]].concat();
        let one = (alone.len() as u64, alone);
        b.add(norm("one-element", "rows of one element", pair, one.clone(), 1, 0.5).clause(clause::NUM_03))?;
        b.add(
            norm("one-element-eps-0", "rows of one element, eps of 0", pair, one, 1, 0.0)
                .clause(clause::NUM_03),
        )?;
    }
    Ok(())
}

/// RMSNORM.
pub fn rmsnorm(b: &mut Bench) -> Result<()> {
    of_norm(b, false)
}

/// LAYERNORM.
pub fn layernorm(b: &mut Bench) -> Result<()> {
    of_norm(b, true)
}

/// SOFTMAX: lines of one element.
pub fn softmax(b: &mut Bench) -> Result<()> {
    for (from, to) in every() {
        let x = [values(from), vec![1.0, -3.0, super::lines::lowest(from)]].concat();
        let n = x.len() as u64;
        let spec = Spec::new("one-element", "edges", "lines of one element").input(reals(from, &[n, 1], x));
        b.add(spec.output(to, &[n, 1]).clause(clause::NUM_03))?;
    }
    Ok(())
}

/// MUL: a scale of 0, and one below 0.
pub fn mul(b: &mut Bench) -> Result<()> {
    for (from, to) in every() {
        for (form, scale) in [("scale-0", 0.0), ("scale-minus-3", -3.0)] {
            let x = [values(from), vec![1.0, -3.0, big(from)]].concat();
            let n = x.len() as u64;
            let spec = Spec::new(form, "edges", "a scale of 0 or below 0 beside special values")
                .input(reals(from, &[n], x))
                .output(to, &[n])
                .param("scale", scale);
            b.add(spec.clause(clause::NUM_03))?;
        }
    }
    Ok(())
}

/// ATTENTION_TILE: windows of one row, a scale of 0, a scale below 0.
pub fn attention(b: &mut Bench) -> Result<()> {
    for (from, to) in every() {
        let (nan, inf) = (f64::NAN, rounded(from, f64::INFINITY));
        let spec = |form: &str, about: &str, len: u64, scale: f64, q: &[f64], k: &[f64], v: &[f64]| {
            let n = q.len() as u64 / 2;
            Spec::new(form, "edges", about)
                .inputs([reals(from, &[n, 1, 2], q.to_vec())])
                .inputs([k, v].map(|rows| reals(from, &[n, len, 1, 2], rows.to_vec())))
                .output(to, &[n, 1, 2])
                .param("head_dim", 2)
                .param("kv_start", 0)
                .param("kv_len", len)
                .param("n_heads", 1)
                .param("n_kv_heads", 1)
                .param("scale", scale)
                .clause(clause::NUM_03)
        };
        let q = [1.0, 0.0].repeat(6);
        let k = [0.0, 1.0, nan, 1.0, inf, 1.0, -448.0, 1.0, 0.0, nan, 3.0, 0.0];
        let v = [1.0, -2.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 2.0, nan, 2.0];
        b.add(spec("one-row", "a window of one row", 1, 0.5, &q, &k, &v))?;
        // The second row of a sequence is the special one.
        let k = [1.0, 0.0, 9.0, 0.0, 2.0, 0.0, nan, 0.0, 2.0, 0.0, inf, 0.0, -1.0, 0.0, 1.0, 0.0];
        let v = [1.0, -2.0, 5.0, 6.0].repeat(4);
        let q = [1.0, 0.0].repeat(4);
        b.add(spec("scale-0-specials", "a scale of 0", 2, 0.0, &q, &k, &v))?;
        b.add(spec("scale-minus-2", "a scale below 0", 2, -2.0, &q, &k, &v))?;
    }
    Ok(())
}

/// EMBED: ids outside of the table, whose rows are not specified, beside others.
pub fn embed(b: &mut Bench) -> Result<()> {
    for &from in FLOATS {
        let table = coded(from, 24);
        let ids = vec![2, -1, 0, 4, i64::from(i32::MAX), 3, i64::from(i32::MIN), 1];
        let spec = Spec::new("ids-outside", "edges", "ids outside of the table beside others")
            .inputs([ints(DType::I32, &[ids.len() as u64], ids), reals(from, &[4, 6], table)])
            .output(from, &[8, 6])
            .param("hidden", 6);
        b.add(spec)?;
    }
    Ok(())
}

/// KV_APPEND: a cache of one row, and one that holds special values, which stay.
pub fn append(b: &mut Bench) -> Result<()> {
    for (from, to) in every() {
        let [low, high] = subnormals(to);
        let inf = if to == F8E4M3 { f64::NAN } else { f64::INFINITY };
        let held = [f64::NAN, inf, -inf, low, -high, -0.0];
        let new = with([1.0, -2.0, 3.0, 0.5, 2.0, -1.0], 2, 4.0);
        let spec = Spec::new("around-row", "edges", ABOUT)
            .input(reals(from, &[1, 6], new.to_vec()))
            .cache(reals(to, &[3, 1, 6], held.repeat(3)))
            .param("pos", 1);
        let known = [held, new, held].concat();
        b.add(spec.known(Values::Reals(known)).clause(clause::EXE_08))?;
    }
    let spec = Spec::new("only-row", "edges", "a cache of one row")
        .input(reals(F32, &[1, 6], coded(F32, 6)))
        .cache(reals(F32, &[1, 1, 6], vec![9.0; 6]))
        .param("pos", 0);
    b.add(spec.known(Values::Reals(coded(F32, 6))))
}
