//! Opcodes that work on lines: long lines, and many of them.

use super::super::bench::{Bench, Pair, Spec, every, round};
use super::super::data::{Operand, formula, numel};
use super::{SIZES, draws, empty, line, ordinary};
use crate::builder::{DType, Result};
use megakernel_ir::formula::Formula;
use megakernel_ir::rule::clause;

/// Hidden sizes of models and ragged ones beyond 4,096, and more rows than 8 bits count.
const LONG: [(&str, [u64; 2]); 6] = [
    ("1x4100", [1, 4100]),
    ("2x5121", [2, 5121]),
    ("1x8192", [1, 8192]),
    ("260x12", [260, 12]),
    ("300x9", [300, 9]),
    ("517x6", [517, 6]),
];

/// Sizes of models and just beyond powers of two, with one pair of dtypes each.
const BEYOND: [(&str, [u64; 2]); 6] = [
    ("3x67", [3, 67]),
    ("2x131", [2, 131]),
    ("2x257", [2, 257]),
    ("2x1030", [2, 1030]),
    ("1x2049", [1, 2049]),
    ("70x18", [70, 18]),
];

fn forms() -> Vec<(&'static str, [u64; 2], Pair)> {
    let long = LONG.into_iter().enumerate();
    let long = long.flat_map(|(turn, (form, shape))| round(turn).map(move |pair| (form, shape, pair)));
    let beyond = BEYOND.into_iter().zip(every().step_by(2)).map(|((form, shape), pair)| (form, shape, pair));
    long.chain(beyond).collect()
}

const ABOUT: &str = "a line as long as models have them, or many lines";

fn norm(b: &mut Bench, biased: bool) -> Result<()> {
    for (form, shape, (from, to)) in forms() {
        let [_, hidden] = shape;
        let seed = |what: &str| b.formula_seed(&format!("{form}-{from}-{what}"));
        let mut inputs = vec![ordinary(from, &shape, 2, seed("x")), ordinary(from, &[hidden], 1, seed("w"))];
        if biased && numel(&shape).is_multiple_of(2) {
            inputs.push(ordinary(from, &[hidden], 1, seed("b")));
        }
        let spec = Spec::new(form, SIZES, ABOUT).inputs(inputs).output(to, &shape);
        b.add_sampled(spec.param("eps", 1e-5).param("hidden", hidden), &shape)?;
    }
    uneven(b)
}

/// Rows whose elements are all positive, and larger behind the first 4,096: what is left out of a sum there shows in every dtype.
fn uneven(b: &mut Bench) -> Result<()> {
    let forms: [(&str, [u64; 2]); 3] = [("1x6151", [1, 6151]), ("1x7168", [1, 7168]), ("2x5120", [2, 5120])];
    for (turn, (form, shape)) in forms.into_iter().enumerate() {
        let [_, hidden] = shape;
        for (from, to) in round(turn) {
            let seed = |what: &str| b.formula_seed(&format!("{form}-{from}-{what}"));
            let mut x = draws(from, &shape, (0, 2), -1, seed("x"));
            x.terms.push(line(0, 4, 2048, Some(hidden.div_ceil(2048))));
            let inputs = [formula(x), ordinary(from, &[hidden], 1, seed("w"))];
            let spec = Spec::new(form, SIZES, ABOUT).inputs(inputs).output(to, &shape);
            b.add_sampled(spec.param("eps", 1e-5).param("hidden", hidden), &shape)?;
        }
    }
    Ok(())
}

/// RMSNORM.
pub fn rmsnorm(b: &mut Bench) -> Result<()> {
    norm(b, false)
}

/// LAYERNORM, with a bias where the number of elements is even.
pub fn layernorm(b: &mut Bench) -> Result<()> {
    norm(b, true)
}

/// SOFTMAX: lines as long as vocabularies, and many lines, along the last axis and along another one.
pub fn softmax(b: &mut Bench) -> Result<()> {
    let long: [(&str, [u64; 2], i64); 7] = [
        ("1x32003", [1, 32_003], -1),
        ("2x8195", [2, 8195], -1),
        ("1x5121", [1, 5121], -1),
        ("4099x2-dim-0", [4099, 2], 0),
        ("300x9", [300, 9], -1),
        ("520x5", [520, 5], -1),
        ("7x259-dim-0", [7, 259], 0),
    ];
    for (turn, (form, shape, dim)) in long.into_iter().enumerate() {
        for (from, to) in round(turn) {
            // Few of a long line weigh much: else what an 8-bit float holds of each is 0.
            let seed = b.formula_seed(&format!("{form}-{from}"));
            let extent = if dim == 0 { shape[0] } else { shape[1] };
            let spec = Spec::new(form, SIZES, ABOUT)
                .input(peaks(from, &shape, extent, dim == 0, seed))
                .output(to, &shape);
            b.add_sampled(spec.param("dim", dim).clause(clause::NUM_07), &shape)?;
        }
    }
    Ok(())
}

/// Scores of which three of each line are larger by 8: at the beginning, at the end, and one that every fault of a tile
/// would meet.
fn peaks(from: DType, shape: &[u64], extent: u64, first_axis: bool, seed: u64) -> Operand {
    let (low, high) = if from == DType::F8E5M2 { (-4, 4) } else { (-8, 8) };
    let mut scores = draws(from, shape, (low, high), -2, seed);
    if extent > 1000 {
        let other = numel(shape) as u64 / extent;
        let (between, within) = if first_axis { (1, other) } else { (extent, 1) };
        for place in [0, extent / 2 + 1, extent - 1] {
            let set = super::at(place * within, 32);
            scores.set.push(megakernel_ir::formula::Set { count: other, stride: between, ..set });
        }
    }
    formula(scores)
}

/// ROPE: heads as models have them, positions beyond 2^17, many positions and many heads.
pub fn rope(b: &mut Bench) -> Result<()> {
    // Shape, first position, step, base.
    let long: [(&str, [u64; 3], i64, i64, f64); 9] = [
        ("head-160", [3, 2, 160], 65_539, 32_771, 10_000.0),
        ("head-192", [3, 1, 192], 131_073, 11, 500_000.0),
        ("head-256", [2, 3, 256], 70_001, 61_003, 1_000_000.0),
        ("positions-300", [300, 1, 4], 255, 257, 10_000.0),
        ("positions-260", [260, 2, 6], 65_521, 1, 10_000.0),
        ("positions-517", [517, 1, 2], 3, 509, 100.0),
        ("heads-70", [2, 70, 8], 257, 66_001, 10_000.0),
        ("heads-96", [1, 96, 4], 32_769, 1, 10_000.0),
        ("heads-80", [1, 80, 6], 300, 1, 10_000.0),
    ];
    for (turn, (form, shape, start, step, theta)) in long.into_iter().enumerate() {
        for pair in round(turn) {
            turned(b, form, shape, (start, step), theta, pair)?;
        }
    }
    let models: [(&str, [u64; 3], i64); 6] = [
        ("head-80", [2, 3, 80], 300),
        ("head-96", [2, 3, 96], 4099),
        ("head-128", [2, 2, 128], 8191),
        ("head-66", [2, 2, 66], 32_767),
        ("heads-128", [1, 128, 4], 65_535),
        ("head-64", [2, 5, 64], 16_384),
    ];
    for ((form, shape, start), pair) in models.into_iter().zip(every().step_by(2)) {
        turned(b, form, shape, (start, 1), 10_000.0, pair)?;
    }
    Ok(())
}

fn turned(
    b: &mut Bench,
    form: &str,
    shape: [u64; 3],
    (start, step): (i64, i64),
    theta: f64,
    (from, to): Pair,
) -> Result<()> {
    let x = ordinary(from, &shape, 2, b.formula_seed(&format!("{form}-{from}")));
    let positions = Formula { terms: vec![line(start, step, 1, None)], ..empty(DType::I32, &shape[..1]) };
    let spec = Spec::new(form, SIZES, "heads and positions as models have them")
        .inputs([x, formula(positions)])
        .output(to, &shape)
        .param("head_dim", shape[2])
        .param("theta", theta);
    b.add_sampled(spec.clause(clause::NUM_07), &shape)
}
