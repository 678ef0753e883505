//! The weights of a softmax, as SOFTMAX, ATTENTION_TILE and ATTENTION_COMBINE have them, and means by such
//! weights.

use crate::vm::bounded::{Bounded, DIVISION, LARGEST, SMALLEST_NORMAL, TINY, lowest_bit, rounding};
use crate::vm::sum::Sum;

/// Units that a change of the reference point costs: an exponential, and the product with it. What depends on
/// the distance is elsewhere, as the distances add up.
const RESCALE: f64 = 5.0;
/// Units of the distance that forming it costs: a subtraction, and what a scale that is folded into the base adds
/// where the reference point changes.
const DISTANCE: f64 = 2.0;

/// `exp(s[j] - m)` for all scores, where m is their maximum.
pub(super) struct Weights {
    /// The maximum; `-inf` if there is no score.
    pub max: Bounded,
    /// A weight for each score. See [`Reference`] for what it is relative to.
    pub weights: Vec<Bounded>,
}

/// Which reference point the weights are judged against.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Reference {
    /// Any one: the weights are only used in quotients.
    Common,
    /// The maximum itself: the weights are stored.
    Maximum,
}

impl Weights {
    /// The weights of these scores. A score of `-inf` weighs nothing; if all do, or there is none, no weight is
    /// anything but zero.
    pub fn of(scores: &[Bounded], reference: Reference) -> Weights {
        let max = Bounded::max(scores);
        if max.v == f64::NEG_INFINITY {
            return Weights { max, weights: vec![Bounded::ZERO; scores.len()] };
        }
        if !max.is_specified() || !max.v.is_finite() {
            // NaN and +inf make every weight, or their sum, NaN.
            let weight = if max.is_specified() { Bounded::exact(f64::NAN) } else { Bounded::UNSPECIFIED };
            return Weights { max, weights: vec![weight; scores.len()] };
        }
        // The upper ends of all scores, in order.
        let mut ends: Vec<f64> =
            scores.iter().filter(|score| score.v.is_finite()).map(|score| score.v + score.e).collect();
        ends.sort_by(f64::total_cmp);
        let weight = |&score| weight(score, max, &ends, reference);
        Weights { max, weights: scores.iter().map(weight).collect() }
    }
}

/// How many of the scores with these upper ends may be larger than `score`, which is one of them.
fn larger(ends: &[f64], score: Bounded) -> usize {
    let least = score.v - score.e;
    let others = ends.len() - ends.partition_point(|&end| end <= least);
    others.saturating_sub(usize::from(score.v + score.e > least))
}

fn weight(score: Bounded, max: Bounded, ends: &[f64], reference: Reference) -> Bounded {
    if score.v == f64::NEG_INFINITY {
        return Bounded::ZERO;
    }
    // The exponential of zero, however the distance is formed.
    if score.is_zero() && max.is_zero() {
        return Bounded::ONE;
    }
    let distance = score.v - max.v;
    // In base 2, as `exp2(s c - m c)`, each product rounds on the scale of the scores, not of their distance.
    let scaled = rounding(score.magnitude() + max.magnitude(), 1.0);
    let propagated = match reference {
        // The only score is the maximum itself, whatever it is.
        _ if ends.len() == 1 => 0.0,
        Reference::Common => score.e,
        Reference::Maximum => score.e + max.e,
    };
    let rounded = rounding(distance.abs() + score.e + max.e, DISTANCE);
    let weight = Bounded { v: distance, e: propagated + rounded + scaled }.exp();
    // What has been weighed is rescaled where the reference point rises, each time to a score that is larger than this one.
    let rescaling = rounding(weight.magnitude(), RESCALE * larger(ends, score) as f64);
    weight.widened(rescaling).flushed()
}

/// A weight times what it weighs. A weight that may be zero may also be skipped, so that nothing is known of an infinity
/// or a NaN that it meets. `divisor` is what the weight may be divided by before.
pub(super) fn weighed(weight: Bounded, x: Bounded, divisor: Bounded) -> Bounded {
    if x.v.is_finite() || weight.is_nan() || divisor.is_nan() {
        return weight.product(x);
    }
    let least = SMALLEST_NORMAL * (divisor.magnitude() + rounding(divisor.magnitude(), 2.0 * DIVISION));
    let is_positive = weight.has_sign() && weight.v - weight.e > least;
    if is_positive { weight.product(x) } else { Bounded::UNSPECIFIED }
}

/// A sum of weighted terms over the sum of the weights, where each weight may be divided first as well. `unit`
/// is that of the upper sum, `spread` the sum of the absolute values of what is weighed.
pub(super) fn mean(terms: Sum, weights: Bounded, unit: f64, spread: f64) -> Bounded {
    let least = weights.v - weights.e;
    let largest = terms.magnitude() / least;
    // Without error, unless a reciprocal is below the smallest normal number, and may be flushed.
    let is_exact = terms.is_exact() && weights.is_exact() && lowest_bit(weights.v) == weights.v;
    if is_exact && least >= SMALLEST_NORMAL && least * SMALLEST_NORMAL <= 1.0 && largest <= LARGEST {
        return terms.finish(unit, 1.0) / weights;
    }
    let quotient = terms.finish_rounded(unit, 1.0) / weights;
    if quotient.is_nan() {
        return quotient;
    }
    // Neither a weight that is divided nor what it weighs may overflow.
    let divided = rounding(largest, DIVISION);
    if !quotient.is_specified() || least < SMALLEST_NORMAL || largest + divided > LARGEST {
        return Bounded::UNSPECIFIED;
    }
    if !quotient.v.is_finite() || quotient.is_zero() {
        return quotient;
    }
    // A weight that is divided is rounded, and flushed to zero where it is small; what it weighs may underflow.
    quotient.widened(divided + spread * SMALLEST_NORMAL + terms.count() * TINY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::bounded::UNIT;

    const INF: f64 = f64::INFINITY;

    fn weights(scores: &[f64], reference: Reference) -> Vec<Bounded> {
        let scores: Vec<Bounded> = scores.iter().map(|&score| Bounded::exact(score)).collect();
        Weights::of(&scores, reference).weights
    }

    #[test]
    fn exact_zeros_weigh_one_and_other_equal_scores_nearly() {
        assert_eq!(weights(&[0.0, 0.0, -0.0], Reference::Maximum), [Bounded::ONE; 3]);
        assert_eq!(weights(&[0.0, f64::NEG_INFINITY], Reference::Maximum), [Bounded::ONE, Bounded::ZERO]);
        let equal = weights(&[0.3, 0.3, 0.3], Reference::Maximum);
        assert!(
            equal.iter().all(|weight| weight.v == 1.0 && weight.e > 0.0 && weight.e < 20.0 * UNIT),
            "{equal:?}"
        );
        let inexact = Bounded { v: 0.3, e: 1e-3 };
        let two = Weights::of(&[inexact, inexact], Reference::Common).weights;
        assert!(two[0].v == 1.0 && two[0].e > 1e-3);
        // The only score is the maximum, whatever it is.
        let one = Weights::of(&[inexact], Reference::Maximum).weights;
        assert!(one[0].v == 1.0 && one[0].e < 10.0 * UNIT, "{one:?}");
    }

    #[test]
    fn the_distance_may_be_formed_in_base_two() {
        // Scores far from zero and close to each other: what rounds is the product with log2(e).
        let scores = [77.123_f32, 77.25, 76.9, -77.123];
        let c = std::f32::consts::LOG2_E;
        let max = scores.iter().copied().fold(f32::MIN, f32::max);
        let exact: Vec<f64> = scores.iter().map(|&score| f64::from(score)).collect();
        let mut largest: f64 = 0.0;
        for (weight, &score) in weights(&exact, Reference::Common).iter().zip(&scores) {
            for distance in [score * c - max * c, score.mul_add(c, -(max * c))] {
                let held = libm::exp2(distance.into());
                largest = largest.max((held - weight.v).abs() / weight.e);
            }
        }
        assert!(largest > 0.1 && largest <= 1.0, "{largest}");
    }

    #[test]
    fn a_weight_may_be_rescaled_by_each_later_score() {
        // Every step multiplies by an exponential that is off by its budget, and rounds.
        let scores: Vec<f64> = (0..64).map(|j| f64::from(j) / 1024.0).collect();
        let step: f64 = 1.0 / 1024.0;
        let mut held = 1.0;
        for _ in 1..64 {
            held *= (-step).exp() * (1.0 + (4.0 + 3.0 * step) * UNIT) * (1.0 + UNIT);
        }
        let first = weights(&scores, Reference::Common)[0];
        let share = (held - first.v) / first.e;
        assert!(share > 0.95 && share <= 1.0, "{share}");
    }

    #[test]
    fn only_larger_scores_rescale() {
        // Three exponentials in each of three steps up to the last score; none for the last, and for what equals it.
        let found = weights(&[0.25, 0.5, 0.375, 0.5, 0.125], Reference::Common);
        let share = |index: usize, steps: f64| {
            let Bounded { v, e } = found[index];
            let t = 0.5 - [0.25, 0.5, 0.375, 0.5, 0.125][index];
            let scaled = [0.75, 1.0, 0.875, 1.0, 0.625][index];
            e / (v * (4.0 + 5.0 * t + scaled + 5.0 * steps) * UNIT)
        };
        for (index, steps) in [(0, 3.0), (1, 0.0), (2, 2.0), (3, 0.0), (4, 4.0)] {
            let share = share(index, steps);
            assert!((share - 1.0).abs() < 1e-4, "{index}: {share}");
        }
        // Scores that are not exact may be larger than those that they equal.
        let score = Bounded { v: 0.5, e: 1e-9 };
        assert_eq!([larger(&[0.5 + 1e-9; 3], score), larger(&[0.5; 3], Bounded::exact(0.5))], [2, 0]);
        assert_eq!(larger(&[0.25, 0.5, 0.75], Bounded { v: 0.5, e: 0.3 }), 2);
    }

    #[test]
    fn stored_weights_carry_the_error_of_the_maximum() {
        let scores = [Bounded { v: 2.0, e: 0.01 }, Bounded { v: 1.0, e: 0.01 }];
        let [common, maximum] = [Reference::Common, Reference::Maximum]
            .map(|reference| Weights::of(&scores, reference).weights[1]);
        assert!(common.e > 0.01 * common.v && common.e < 0.0101 * common.v);
        assert!(maximum.e > 0.02 * maximum.v && maximum.e < 0.0203 * maximum.v);
    }

    #[test]
    fn what_a_weight_that_may_be_zero_meets_may_be_skipped() {
        let weights = weights(&[0.0, -80.0, -90.0, -INF], Reference::Maximum);
        for x in [INF, -INF, f64::NAN] {
            let met = |divisor: f64| -> Vec<bool> {
                let met = |weight: &Bounded| weighed(*weight, Bounded::exact(x), Bounded::exact(divisor));
                weights.iter().map(|weight| met(weight).is_specified()).collect()
            };
            assert_eq!(met(1.0), [true, true, false, false], "{x}");
            // exp(-80) is 1,535 times the smallest normal number.
            assert_eq!(met(1_500.0), [true, true, false, false], "{x}");
            assert_eq!(met(1_540.0), [true, false, false, false], "{x}");
        }
        // A NaN among the scores makes it NaN anyway.
        assert!(weighed(Bounded::exact(f64::NAN), Bounded::exact(INF), Bounded::ONE).is_nan());
        assert_eq!(weighed(Bounded::ZERO, Bounded::exact(3.0), Bounded::ONE), Bounded::ZERO);
    }

    #[test]
    fn weights_are_divided_where_neither_they_nor_the_terms_overflow() {
        let of = |terms: &[f64], weights: f64| {
            let mut sum = Sum::new();
            terms.iter().for_each(|&term| sum.push(Bounded::exact(term)));
            mean(sum, Bounded::exact(weights), UNIT, terms.iter().map(|term| term.abs()).sum())
        };
        let power = |n: i32| 2f64.powi(n);
        assert_eq!(of(&[power(-130)], power(-126)), Bounded::exact(power(-4)));
        assert_eq!(of(&[power(120)], power(126)), Bounded::exact(power(-6)));
        // 1 / l is infinite, or may be.
        assert!(!of(&[power(-130)], power(-127)).is_specified());
        assert!(!of(&[0.0], power(-149)).is_specified());
        assert!(of(&[f64::NAN], power(-149)).is_nan());
        // 1 / l may be flushed.
        let flushed = of(&[power(127)], power(127));
        assert!(flushed.v == 1.0 && flushed.e >= 1.0, "{flushed:?}");
        // The terms are finite, and their quotients are not.
        assert_eq!(of(&[power(100), -power(100)], power(-20)), Bounded::ZERO);
        assert!(!of(&[power(100), -power(100)], power(-40)).is_specified());
        // Products of quotients with subnormal numbers round one by one.
        let tiny = of(&[33.0 * power(-149), -31.0 * power(-149)], 64.0 * (1.0 + power(-20)));
        assert!(tiny.e >= 2.0 * TINY, "{tiny:?}");
    }

    #[test]
    fn weights_that_are_divided_first_are_rounded_one_by_one() {
        let mut sum = Sum::new();
        [3.0, -3.0].map(Bounded::exact).into_iter().for_each(|term| sum.push(term));
        assert_eq!(mean(sum, Bounded::exact(2.0), UNIT, 6.0), Bounded::ZERO);
        let third = mean(sum, Bounded::exact(3.0), UNIT, 6.0);
        // Two quotients of 4 units, two products and a sum.
        assert!(third.v == 0.0 && third.e > 2.0 * 6.0 * UNIT && third.e < 2.1 * 6.0 * UNIT);
    }
}
