//! The weights of a softmax, as SOFTMAX, ATTENTION_TILE and ATTENTION_COMBINE have them, and means by such
//! weights.

use crate::vm::bounded::{Bounded, DIVISION, SMALLEST_NORMAL, lowest_bit, rounding};
use crate::vm::sum::Sum;

/// Units that a change of the reference point costs: an exponential, and the product with it. What depends on
/// the distance is in the exponential's own budget, as the distances add up.
const RESCALE: f64 = 5.0;

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
        let live = scores.iter().filter(|score| score.v.is_finite()).count();
        let weight = |&score| weight(score, max, live, reference);
        Weights { max, weights: scores.iter().map(weight).collect() }
    }
}

fn weight(score: Bounded, max: Bounded, live: usize, reference: Reference) -> Bounded {
    if score.v == f64::NEG_INFINITY {
        return Bounded::ZERO;
    }
    // The implementation's maximum is its only score, or both are known and equal: the exponential of zero.
    if live == 1 || (score.is_exact() && max.is_exact() && score.v == max.v) {
        return Bounded::ONE;
    }
    let distance = score.v - max.v;
    let propagated = match reference {
        Reference::Common => score.e,
        Reference::Maximum => score.e + max.e,
    };
    let rounded = rounding(distance.abs() + score.e + max.e, 1.0);
    let weight = Bounded { v: distance, e: propagated + rounded }.exp();
    let rescaling = rounding(weight.magnitude(), RESCALE * (live as f64 - 1.0));
    weight.widened(rescaling).flushed()
}

/// A sum of weighted terms over the sum of the weights, where each weight may be divided first as well. `unit`
/// is that of the upper sum, `spread` the sum of the absolute values of what is weighed.
pub(super) fn mean(terms: Sum, weights: Bounded, unit: f64, spread: f64) -> Bounded {
    if terms.is_exact() && weights.is_exact() && lowest_bit(weights.v) == weights.v {
        return terms.finish(unit, 1.0) / weights;
    }
    let quotient = terms.finish_rounded(unit, 1.0) / weights;
    if !quotient.v.is_finite() || !quotient.is_specified() || quotient.is_zero() {
        return quotient;
    }
    // A weight that is divided by itself is rounded, and flushed to zero where it is small.
    let divided = rounding(terms.magnitude() / (weights.v - weights.e), DIVISION);
    quotient.widened(divided + spread * SMALLEST_NORMAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::bounded::UNIT;

    fn weights(scores: &[f64], reference: Reference) -> Vec<Bounded> {
        let scores: Vec<Bounded> = scores.iter().map(|&score| Bounded::exact(score)).collect();
        Weights::of(&scores, reference).weights
    }

    #[test]
    fn equal_exact_scores_weigh_one() {
        assert_eq!(weights(&[0.3, 0.3, 0.3], Reference::Maximum), [Bounded::ONE; 3]);
        assert_eq!(weights(&[0.3, f64::NEG_INFINITY], Reference::Maximum), [Bounded::ONE, Bounded::ZERO]);
        let inexact = Bounded { v: 0.3, e: 1e-3 };
        let two = Weights::of(&[inexact, inexact], Reference::Common).weights;
        assert!(two[0].v == 1.0 && two[0].e > 1e-3);
        // The only score is the maximum, whatever it is.
        assert_eq!(Weights::of(&[inexact], Reference::Maximum).weights, [Bounded::ONE]);
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
    fn stored_weights_carry_the_error_of_the_maximum() {
        let scores = [Bounded { v: 2.0, e: 0.01 }, Bounded { v: 1.0, e: 0.01 }];
        let [common, maximum] = [Reference::Common, Reference::Maximum]
            .map(|reference| Weights::of(&scores, reference).weights[1]);
        assert!(common.e > 0.01 * common.v && common.e < 0.0101 * common.v);
        assert!(maximum.e > 0.02 * maximum.v && maximum.e < 0.0203 * maximum.v);
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
