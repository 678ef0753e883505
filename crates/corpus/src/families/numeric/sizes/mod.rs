//! Sizes that models have, and those just beyond a limit that an implementation may have: inputs by formula (clause NUM-13), and
//! of results with many elements a sample.
//!
//! Only one axis of a case is long, so that it costs little. Of each axis three forms, in every output, are longer than the
//! limits that the faults of `crates/adequacy` have.

mod attention;
mod beyond;
mod counts;
mod elements;
mod matmul;
mod movement;
mod online;
mod rows;

use std::collections::BTreeSet;

use megakernel_ir::formula::{Draw, Formula, Line, Set, Term};
use megakernel_ir::prng::{SplitMix64, fnv1a64};
use megakernel_ir::rule::clause;

use super::bench::{Bench, Spec};
use super::data::{Operand, formula, numel, precision};
use crate::builder::{DType, Result};

pub use attention::{attention, combine};
pub use beyond::fill as beyond;
pub use counts::fill as counts;
pub use elements::{add, allreduce, copy, dequant, mul, silu_mul, unary};
pub use matmul::{gemm, gemv};
pub use movement::{argmax, embed, kv_append};
pub use online::{attention as online_attention, combine as online_combine, softmax as online_softmax};
pub use rows::{layernorm, rmsnorm, rope, softmax};

/// The data family of these cases.
const SIZES: &str = "sizes";

/// Results of so many elements are judged as a whole.
const WHOLE: usize = 160;

/// How many elements of a sample are drawn.
const DRAWN: usize = 24;

/// A tensor of one value, to which terms are added.
fn empty(dtype: DType, shape: &[u64]) -> Formula {
    Formula { dtype, shape: shape.to_vec(), exponent: 0, terms: Vec::new(), set: Vec::new() }
}

/// A term that draws from `low` to `high`.
fn draw(low: i64, high: i64, seed: u64) -> Draw {
    Draw { low, high, seed, every: 1, repeat: None }
}

/// Integers from `low` to `high`, times a power of two.
fn draws(dtype: DType, shape: &[u64], (low, high): (i64, i64), exponent: i32, seed: u64) -> Formula {
    Formula { exponent, terms: vec![Term::Draw(draw(low, high, seed))], ..empty(dtype, shape) }
}

/// A term that counts.
fn line(start: i64, step: i64, every: u64, repeat: Option<u64>) -> Term {
    Term::Line(Line { start, step, every, repeat })
}

/// One element that holds another value.
fn at(first: u64, value: i64) -> Set {
    Set { first, count: 1, stride: 1, value }
}

/// Numbers up to `2^reach` in magnitude, with as many bits as the dtype has.
fn ordinary(dtype: DType, shape: &[u64], reach: i32, seed: u64) -> Operand {
    let bits = precision(dtype);
    let most = (1 << bits) - 1;
    formula(draws(dtype, shape, (-most, most), reach - bits, seed))
}

/// Whole numbers of small magnitude.
fn small(dtype: DType, shape: &[u64], most: i64, seed: u64) -> Formula {
    draws(dtype, shape, (-most, most), 0, seed)
}

impl Bench {
    /// The seed of a formula of a case of these families.
    fn formula_seed(&self, what: &str) -> u64 {
        // Every tool holds 53 bits.
        let of_case = fnv1a64(format!("{SIZES}/{}/{what}", self.opcode()).as_bytes()) >> 11;
        of_case ^ (self.corpus_seed() & ((1 << 53) - 1))
    }

    /// Adds a case of which a sample is judged where it has many elements.
    fn add_sampled(&mut self, spec: Spec, shape: &[u64]) -> Result<()> {
        let spec = spec.clause(clause::NUM_13);
        match sample(self.formula_seed("sample"), shape) {
            Some(places) => self.add(spec.clause(clause::NUM_11).sampled(places)),
            None => self.add(spec),
        }
    }
}

/// Places of a large result: the first and the last, those around powers of two, ends of lines, and some that are drawn.
fn sample(seed: u64, shape: &[u64]) -> Option<Vec<u64>> {
    let n = numel(shape) as u64;
    if n <= WHOLE as u64 {
        return None;
    }
    let width = shape.last().copied().unwrap_or(n).max(1);
    let mut places: BTreeSet<u64> = [0, 1, 2, n - 3, n - 2, n - 1].into();
    for power in (4..32).map(|exponent| 1u64 << exponent) {
        // From the beginning, and within the last line.
        places.extend([power - 1, power, power + 1, n - width + power.min(width - 1)]);
    }
    for line in (0..32).map(|exponent| 1u64 << exponent) {
        places.extend([line * width - 1, line * width]);
    }
    let mut prng = SplitMix64::new(seed ^ n);
    places.extend((0..DRAWN).map(|_| prng.below(n)));
    places.retain(|&place| place < n);
    Some(places.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_ends_and_the_neighbours_of_powers_of_two() {
        assert_eq!(sample(1, &[10, 16]), None);
        let places = sample(1, &[3, 5000]).expect("a sample");
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{places:?}");
        for place in [0, 14_999, 1023, 1024, 1025, 4096, 4999, 5000, 10_000, 10_000 + 4096, 9999] {
            assert!(places.contains(&place), "{place} is not in {places:?}");
        }
        assert!(places.len() < 200 && places.iter().all(|place| *place < 15_000), "{}", places.len());
        assert_ne!(sample(2, &[3, 5000]), Some(places));
    }

    #[test]
    fn ordinary_numbers_are_those_of_the_dtype() {
        for dtype in [DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2] {
            let operand = ordinary(dtype, &[500], 2, 7);
            let super::super::data::Values::Formula(formula) = &operand.values else {
                unreachable!("no formula")
            };
            let exact: Vec<f64> = formula
                .integers()
                .expect("integers")
                .iter()
                .map(|n| *n as f64 * 2f64.powi(formula.exponent))
                .collect();
            assert_eq!(formula.tensor().expect("a tensor").reals(), exact, "{dtype} rounds them");
            assert!(
                exact.iter().all(|value| value.abs() < 4.0) && exact.iter().any(|value| value.abs() > 3.0)
            );
        }
    }
}
