//! Tasks in one line, for the tests of the kernels, and an implementation in binary32 that rounds as badly as
//! it may.
//!
//! The central property: whatever order, arrangement and rounding the clauses permit, the result lies within
//! the bound.

use megakernel_ir::prng::SplitMix64;
use std::fmt::Debug;

use smallvec::SmallVec;

use super::{Data, Operand, OutputView, TaskView, Written, kernel};
use crate::opcodes::{Operands, op, testing::case};
use crate::region::Region;
use crate::vm::bounded::{Bounded, UNIT};

/// What an input holds.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Exact numbers.
    Reals(Vec<f64>),
    /// Numbers and their bounds.
    Bounded(Vec<f64>, Vec<f64>),
    /// Integers.
    Ints(Vec<i64>),
}

/// Exact numbers as an input.
pub(crate) fn reals(values: &[f64]) -> Input {
    Input::Reals(values.to_vec())
}

/// Integers as an input.
pub(crate) fn ints(values: &[i64]) -> Input {
    Input::Ints(values.to_vec())
}

/// Runs a task in the notation of [`case`], with this unit of long sums.
fn run(notation: &str, inputs: &[Input], unit: f64) -> Written {
    let case = case(notation);
    case.assert_clean();
    let program = case.program();
    let task = program.tasks.first().expect("one task");
    let operands = Operands::new(&program, task);
    let mut views = SmallVec::new();
    for (buffer, input) in operands.inputs.iter().zip(inputs) {
        let numel = usize::try_from(buffer.numel().expect("a size")).expect("a small buffer");
        let (length, data) = match input {
            Input::Reals(values) => (values.len(), Data::Reals { values, bounds: None }),
            Input::Bounded(values, bounds) => (values.len(), Data::Reals { values, bounds: Some(bounds) }),
            Input::Ints(values) => (values.len(), Data::Ints(values)),
        };
        assert_eq!(length, numel, "elements of {} of {notation}", buffer.name);
        views.push(Operand { dtype: buffer.dtype, shape: &buffer.shape, data });
    }
    let output = operands.outputs[0];
    let region = op(task.op).writes(&operands, 0).expect("a footprint");
    let view = TaskView {
        opcode: task.op,
        params: &task.params,
        inputs: views,
        output: OutputView { dtype: output.dtype, shape: &output.shape, region },
        unit,
    };
    let written = kernel(task.op).expect("a kernel").run(&view);
    let count = match &written {
        Written::Reals(values) => values.len(),
        Written::Ints(values) => values.len(),
    };
    assert_eq!(count, size(&region), "elements written by {notation}");
    written
}

fn size(region: &Region) -> usize {
    region.axes().iter().map(|[low, high]| usize::try_from(high - low).expect("an interval")).product()
}

/// Runs a task that writes numbers, with another unit of long sums.
pub(crate) fn bounded_with(notation: &str, inputs: &[Input], unit: f64) -> Vec<Bounded> {
    let written = run(notation, inputs, unit);
    let Written::Reals(values) = written else { unreachable!("{notation} writes {written:?}") };
    values
}

/// Runs a task that writes numbers.
pub(crate) fn bounded(notation: &str, inputs: &[Input]) -> Vec<Bounded> {
    bounded_with(notation, inputs, UNIT)
}

/// Runs a task that writes integers.
pub(crate) fn integers(notation: &str, inputs: &[Input]) -> Vec<Option<i64>> {
    let written = run(notation, inputs, UNIT);
    let Written::Ints(values) = written else { unreachable!("{notation} writes {written:?}") };
    values
}

/// The task yields exactly these numbers, NaN among them, and any implementation has to.
pub(crate) fn assert_exact(notation: &str, inputs: &[Input], expected: &[f64]) {
    let values = bounded(notation, inputs);
    let same = |(value, expected): (&Bounded, &f64)| {
        value.e == 0.0 && (value.v == *expected || (value.v.is_nan() && expected.is_nan()))
    };
    let equal = values.len() == expected.len() && values.iter().zip(expected).all(same);
    assert!(equal, "{notation}: {values:?} instead of {expected:?}");
}

/// The references are these numbers, up to the rounding of binary64, and the bounds are within 1e-3 of them.
pub(crate) fn assert_near(notation: &str, inputs: &[Input], expected: &[f64]) {
    let values = bounded(notation, inputs);
    let near = |(value, expected): (&Bounded, &f64)| {
        let size = expected.abs().max(1e-30);
        (value.v - expected).abs() <= 1e-14 * size && value.e <= 1e-3 * size
    };
    let equal = values.len() == expected.len() && values.iter().zip(expected).all(near);
    assert!(equal, "{notation}: {values:?} instead of {expected:?}");
}

/// Which elements are specified.
pub(crate) fn specified(notation: &str, inputs: &[Input]) -> Vec<bool> {
    bounded(notation, inputs).into_iter().map(Bounded::is_specified).collect()
}

/// Random numbers, and whether inputs carry errors: for odd seeds some do.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: SplitMix64,
    seed: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random { state: SplitMix64::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)), seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state.next_u64()
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// A number in `[-1, 1]`, each end with probability 1/8.
    pub(crate) fn signed(&mut self) -> f64 {
        match self.below(8) {
            0 => -1.0,
            1 => 1.0,
            _ => self.next() as f64 / 2f64.powi(63) - 1.0,
        }
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.next() & 1 == 0
    }
}

/// What random inputs look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Family {
    /// Around one.
    Plain,
    /// Exponents from -24 to 24.
    Wide,
    /// Each number followed by nearly its opposite.
    Cancelling,
    /// Integers from -8 to 8.
    Small,
    /// Around the smallest normal number.
    Tiny,
}

pub(crate) const FAMILIES: [Family; 5] =
    [Family::Plain, Family::Wide, Family::Cancelling, Family::Small, Family::Tiny];

/// A stored input, and what an implementation has instead, within the bounds.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) input: Input,
    pub(crate) actual: Vec<f32>,
}

impl Random {
    /// Whether inputs may carry errors.
    fn has_errors(&self) -> bool {
        self.seed % 2 == 1
    }

    /// `count` numbers of binary32, half of the samples with errors where there are any.
    pub(crate) fn sample(&mut self, family: Family, count: usize) -> Sample {
        let mut values: Vec<f64> = Vec::with_capacity(count);
        for index in 0..count {
            let plain = self.next() as f64 / 2f64.powi(63) - 1.0;
            let value = match family {
                Family::Plain => plain * 4.0,
                Family::Wide => plain * 2f64.powi(self.below(49) as i32 - 24),
                Family::Cancelling if index % 2 == 1 => -values[index - 1] * (1.0 + plain * 1e-4),
                Family::Cancelling => plain * 16.0,
                Family::Small => self.below(17) as f64 - 8.0,
                Family::Tiny => plain * 2f64.powi(self.below(30) as i32 - 145),
            };
            values.push(f64::from(value as f32));
        }
        if family == Family::Small || !self.has_errors() || self.coin() {
            return Sample {
                actual: values.iter().map(|&v| v as f32).collect(),
                input: Input::Reals(values),
            };
        }
        let size = [1e-6, 1e-4, 1e-2][self.below(3)];
        let mut actual = Vec::with_capacity(count);
        let mut bounds = Vec::with_capacity(count);
        for value in &values {
            let moved = (value * (1.0 + size * self.signed())) as f32;
            let error = (f64::from(moved) - value).abs();
            actual.push(moved);
            bounds.push(if self.coin() { error } else { error * 1.5 });
        }
        Sample { input: Input::Bounded(values, bounds), actual }
    }

    /// Integers that are what they are.
    pub(crate) fn integers(&mut self, count: usize, low: i64, high: i64) -> Vec<i64> {
        let range = usize::try_from(high - low + 1).expect("a range");
        (0..count).map(|_| low + self.below(range) as i64).collect()
    }

    /// A random order.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            let other = self.below(index + 1);
            items.swap(index, other);
        }
    }
}

/// Arithmetic in binary32 that uses up the budgets of NUM-07 and takes sums in random orders.
impl Random {
    /// A number that is off by `units` at most once it is in binary32.
    fn off(&mut self, v: f64, units: f64) -> f32 {
        (v * (1.0 + self.signed() * (units - 1.0) * UNIT)) as f32
    }

    fn flush(&mut self, v: f32) -> f32 {
        if v.is_subnormal() && self.coin() { 0.0 } else { v }
    }

    pub(crate) fn exp(&mut self, x: f32) -> f32 {
        if x == 0.0 {
            return 1.0;
        }
        let v = self.off(f64::from(x).exp(), 4.0 + 3.0 * f64::from(x).abs());
        self.flush(v)
    }

    pub(crate) fn div(&mut self, x: f32, y: f32) -> f32 {
        let exact = f64::from(x) / f64::from(y);
        let is_power_of_two = y.to_bits().trailing_zeros() >= 23;
        if is_power_of_two && f64::from(exact as f32) == exact && !(exact as f32).is_subnormal() {
            return exact as f32;
        }
        let v = self.off(exact, 4.0);
        self.flush(v)
    }

    pub(crate) fn inverse_root(&mut self, x: f32) -> f32 {
        self.off(1.0 / f64::from(x).sqrt(), 6.0)
    }

    /// A function with values up to 1 and an absolute budget of `units`, of which rounding takes half a one.
    pub(crate) fn absolute(&mut self, v: f64, units: f64) -> f32 {
        ((v + self.signed() * (units - 0.5) * UNIT).clamp(-1.0, 1.0)) as f32
    }

    pub(crate) fn pow(&mut self, base: f64, y: f64) -> f32 {
        if y == 0.0 { 1.0 } else { self.off(base.powf(y), 8.0 + 4.0 * (y * base.ln()).abs()) }
    }

    /// A sum in a random order, by a random tree, or in binary64.
    pub(crate) fn sum(&mut self, mut terms: Vec<f32>) -> f32 {
        self.shuffle(&mut terms);
        match self.below(4) {
            0 => terms.iter().map(|&term| f64::from(term)).sum::<f64>() as f32,
            1 => terms.iter().sum(),
            2 => {
                while terms.len() > 1 {
                    terms = terms.chunks(2).map(|pair| pair.iter().sum()).collect();
                }
                terms.pop().unwrap_or(0.0)
            }
            _ => {
                while terms.len() > 1 {
                    let [a, b] = [0, 1].map(|_| self.below(terms.len())).map(|index| index % terms.len());
                    if a != b {
                        let sum = terms[a] + terms[b];
                        terms[a] = sum;
                        terms.swap_remove(b);
                    }
                }
                terms.pop().unwrap_or(0.0)
            }
        }
    }

    /// A dot product, with or without fused multiply-add.
    pub(crate) fn dot(&mut self, x: &[f32], w: &[f32]) -> f32 {
        if self.coin() {
            let terms = x.iter().zip(w).map(|(x, w)| x * w).collect();
            return self.sum(terms);
        }
        let mut pairs: Vec<(f32, f32)> = x.iter().copied().zip(w.iter().copied()).collect();
        self.shuffle(&mut pairs);
        let mut parts = vec![0.0_f32; 1 + self.below(4)];
        for (index, (x, w)) in pairs.into_iter().enumerate() {
            let count = parts.len();
            let part = &mut parts[index % count];
            *part = x.mul_add(w, *part);
        }
        self.sum(parts)
    }

    /// `exp(score - reference)`, from the difference, or in base 2 with one of the products fused, or none.
    fn weight(&mut self, form: usize, score: f32, reference: f32) -> f32 {
        let c = std::f32::consts::LOG2_E;
        let exponent = match form {
            0 => return self.exp(score - reference),
            1 => score.mul_add(c, -(reference * c)),
            2 => reference.mul_add(-c, score * c),
            _ => score * c - reference * c,
        };
        if exponent == 0.0 {
            return 1.0;
        }
        let v = self.off(f64::from(exponent).exp2(), 4.0);
        self.flush(v)
    }

    /// Maximum and weights of a softmax, in one pass over the scores or in two. A score of `-inf` weighs
    /// nothing.
    pub(crate) fn weights(&mut self, scores: &[f32]) -> (f32, Vec<f32>) {
        let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if max == f32::NEG_INFINITY {
            return (max, vec![0.0; scores.len()]);
        }
        let form = self.below(4);
        if self.coin() {
            return (max, scores.iter().map(|&score| self.weight(form, score, max)).collect());
        }
        // Online: what has been weighed is rescaled as the maximum grows.
        let mut order: Vec<usize> = (0..scores.len()).collect();
        self.shuffle(&mut order);
        let (mut reference, mut weights) = (f32::NEG_INFINITY, vec![0.0; scores.len()]);
        for index in order {
            let grown = reference.max(scores[index]);
            if grown > reference && reference.is_finite() {
                let factor = self.exp(reference - grown);
                weights.iter_mut().for_each(|weight| *weight *= factor);
            }
            reference = grown;
            if scores[index].is_finite() {
                weights[index] = self.weight(form, scores[index], reference);
            }
        }
        (max, weights)
    }

    /// A weighted mean, divided before or after the sum.
    pub(crate) fn mean(&mut self, weights: &[f32], values: &[f32], denominator: f32) -> f32 {
        if self.coin() {
            let sum = self.dot(weights, values);
            return self.div(sum, denominator);
        }
        let weights: Vec<f32> = weights.iter().map(|&weight| self.div(weight, denominator)).collect();
        self.dot(&weights, values)
    }

    /// A product of three factors in some order.
    pub(crate) fn product(&mut self, x: f32, y: f32, z: f32) -> f32 {
        match self.below(3) {
            0 => x * y * z,
            1 => x * (y * z),
            _ => (x * z) * y,
        }
    }
}

/// The largest shares of their bounds that results have used.
#[derive(Default)]
pub(crate) struct Shares {
    /// Where the inputs are exact.
    exact: f64,
    /// Where some are not.
    inexact: f64,
    judged: usize,
    unspecified: usize,
}

impl Shares {
    /// Judges the results of an implementation before the cast.
    pub(crate) fn judge(&mut self, random: &Random, expected: &[Bounded], found: &[f32], what: &dyn Debug) {
        assert_eq!(expected.len(), found.len(), "{what:?}");
        for (index, (expected, &found)) in expected.iter().zip(found).enumerate() {
            if !expected.is_specified() {
                self.unspecified += 1;
                continue;
            }
            self.judged += 1;
            let site = || format!("element {index}, seed {}, {what:?}", random.seed);
            if expected.v.is_nan() {
                assert!(found.is_nan(), "{found} instead of NaN: {}", site());
                continue;
            }
            // The reference need not be a number of binary32; what is held before the cast may be.
            let error = (f64::from(found) - expected.v).abs();
            let is_nearest = found == expected.v as f32 && expected.e == 0.0;
            if error == 0.0 || f64::from(found) == expected.v || is_nearest {
                continue;
            }
            let share = error / expected.e;
            assert!(share <= 1.0, "{found:e} is {share} bounds from {expected:?}: {}", site());
            let largest = if random.has_errors() { &mut self.inexact } else { &mut self.exact };
            *largest = largest.max(share);
        }
    }

    /// Nearly all was specified, and with exact inputs some result used this much of its bound.
    pub(crate) fn assert_tight(&self, name: &str, least: f64) {
        let Shares { exact, inexact, judged, unspecified } = self;
        println!(
            "{name}: largest share {exact:.3}, with errors in the inputs {inexact:.3}; {judged} judged, {unspecified} not specified"
        );
        assert!(*judged > 10 * unspecified, "{name}: {judged} judged, {unspecified} not specified");
        assert!(*exact >= least, "{name}: the largest share of a bound was {exact}");
    }
}
