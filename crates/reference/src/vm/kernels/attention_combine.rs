//! ATTENTION_COMBINE (clause OPC-18): partial results of ATTENTION_TILE, weighed by their maxima and merged.

use super::view::{Line, last};
use super::weights::{self, Reference, Weights};
use super::{Kernel, TaskView, Written};
use crate::vm::bounded::{Bounded, UNIT};
use crate::vm::sum::Sum;

pub(super) struct AttentionCombine;

pub(super) static KERNEL: AttentionCombine = AttentionCombine;

/// One row of one partial.
struct Partial<'a> {
    sum: Line<'a>,
    max: Bounded,
    denominator: Bounded,
}

impl Kernel for AttentionCombine {
    fn run(&self, task: &TaskView<'_>) -> Written {
        let width = last(task.shape(0));
        let Some(head_dim) = width.checked_sub(2) else { return Written::Reals(Vec::new()) };
        let rows = task.reals(0).len() / width;
        let mut values = Vec::with_capacity(rows.saturating_mul(head_dim));
        for row in 0..rows {
            let partial = |input| {
                let row = task.reals(input).row(row, width);
                Partial {
                    sum: row.slice(0, head_dim),
                    max: row.at(head_dim),
                    denominator: row.at(head_dim + 1),
                }
            };
            let partials: Vec<Partial<'_>> = (0..task.inputs.len()).map(partial).collect();
            values.extend(merge(&partials, head_dim));
        }
        Written::Reals(values)
    }
}

fn merge(partials: &[Partial<'_>], head_dim: usize) -> Vec<Bounded> {
    let unspecified = || vec![Bounded::UNSPECIFIED; head_dim];
    let is_empty = |partial: &Partial<'_>| partial.denominator.is_zero();
    let is_valid = |partial: &Partial<'_>| {
        // An empty partial may be multiplied by zero, and a live one has a maximum.
        let finite = |x: Bounded| x.v.is_finite() && x.is_specified();
        if is_empty(partial) {
            partial.sum.iter().all(finite) && partial.max.v < f64::INFINITY && partial.max.is_specified()
        } else {
            let Partial { max, denominator, .. } = partial;
            denominator.v > 0.0 && denominator.has_sign() && finite(*denominator) && finite(*max)
        }
    };
    if !partials.iter().all(is_valid) {
        return unspecified();
    }
    if partials.iter().all(is_empty) {
        return vec![Bounded::ZERO; head_dim];
    }
    // The maximum is over all, so that an empty partial with a large one drives the others towards zero.
    let maxima: Vec<Bounded> = partials.iter().map(|partial| partial.max).collect();
    let weights = Weights::of(&maxima, Reference::Common).weights;
    let live = || partials.iter().zip(&weights).filter(|(partial, _)| !is_empty(partial));
    let mut denominator = Sum::new();
    for (partial, &weight) in live() {
        denominator.push(weight.product(partial.denominator));
    }
    let denominator = denominator.finish(UNIT, 1.0);
    let element = |d: usize| {
        let (mut sum, mut spread) = (Sum::new(), 0.0);
        for (partial, &weight) in live() {
            let x = partial.sum.at(d);
            sum.push(weights::weighed(weight, x, denominator));
            spread += x.magnitude();
        }
        weights::mean(sum, denominator, UNIT, spread)
    };
    (0..head_dim).map(element).collect()
}

#[cfg(test)]
mod tests {
    use crate::vm::kernels::testing::{
        Family, Random, Shares, assert_exact, assert_near, bounded, reals, specified,
    };

    const TASK: &str = "ATTENTION_COMBINE F32[1,4] F32[1,4] -> F32[2]";
    const INF: f64 = f64::INFINITY;

    #[test]
    fn partials_are_rescaled_to_the_common_maximum() {
        let w = (-1f64).exp();
        let inputs = [reals(&[1.0, 2.0, 4.0, 2.0]), reals(&[10.0, 20.0, 5.0, 3.0])];
        let l = 2.0 * w + 3.0;
        assert_near(TASK, &inputs, &[(w + 10.0) / l, (2.0 * w + 20.0) / l]);
    }

    #[test]
    fn equal_maxima_weigh_one() {
        let partials = |max| [reals(&[1.0, -2.0, max, 1.0]), reals(&[3.0, 6.0, max, 3.0])];
        assert_exact(TASK, &partials(0.0), &[1.0, 1.0]);
        // In base 2 others do so nearly.
        assert_near(TASK, &partials(7.0), &[1.0, 1.0]);
        assert!(bounded(TASK, &partials(7.0)).iter().all(|y| y.e > 0.0 && y.e < 1e-5));
    }

    #[test]
    fn an_empty_partial_weighs_nothing() {
        let empty = reals(&[0.0, 0.0, -INF, 0.0]);
        let inputs = [reals(&[1.0, -2.0, 0.0, 2.0]), empty.clone()];
        assert_exact(TASK, &inputs, &[0.5, -1.0]);
        assert_exact(TASK, &[empty.clone(), empty], &[0.0, 0.0]);
        // Nor does one that holds numbers; it may serve as reference point.
        let values = bounded(TASK, &[reals(&[1.0, -2.0, 7.0, 2.0]), reals(&[5.0, 5.0, 8.0, 0.0])]);
        assert!(values[0].v == 0.5 && values[1].v == -1.0 && values[0].e < 1e-5);
    }

    #[test]
    fn partials_that_no_tile_writes_leave_the_row_open() {
        let live = [1.0, -2.0, 7.0, 2.0];
        for other in [
            [1.0, 1.0, 200.0, 0.0],
            [INF, 1.0, -INF, 0.0],
            [1.0, 1.0, f64::NAN, 0.0],
            [1.0, 1.0, 1.0, -1.0],
            [1.0, 1.0, -INF, 1.0],
            [1.0, 1.0, 1.0, f64::NAN],
        ] {
            assert_eq!(specified(TASK, &[reals(&live), reals(&other)]), [false; 2], "{other:?}");
        }
    }

    #[test]
    fn infinite_and_nan_elements_stay_in_their_column() {
        let inputs = [reals(&[INF, f64::NAN, 7.0, 1.0]), reals(&[1.0, 1.0, 6.0, 1.0])];
        assert_exact(TASK, &inputs, &[INF, f64::NAN]);
    }

    #[test]
    fn rows_have_their_own_maxima() {
        let first: Vec<f64> = vec![1.0, 0.0, 1.0, 5.0, 2.0, 1.0];
        let second: Vec<f64> = vec![3.0, 0.0, 1.0, 7.0, 2.0, 3.0];
        let task = "ATTENTION_COMBINE F32[2,1,3] F32[2,1,3] -> F32[1,2]";
        assert_near(task, &[reals(&first), reals(&second)], &[2.0, 3.0]);
    }

    #[test]
    fn binary32_stays_within_the_bound() {
        let mut shares = Shares::default();
        for seed in 0..300 {
            let mut random = Random::new(seed);
            for family in [Family::Plain, Family::Wide, Family::Cancelling, Family::Small] {
                let count = 2 + random.below(7);
                let mut samples: Vec<_> = (0..count).map(|_| random.sample(family, 6)).collect();
                for sample in &mut samples {
                    // A denominator is at least 1, and a maximum is not extreme.
                    sample.actual[5] = sample.actual[5].abs() + 1.0;
                    sample.actual[4] = sample.actual[4].clamp(-20.0, 20.0);
                    sample.input = reals(&sample.actual.iter().map(|&x| x.into()).collect::<Vec<_>>());
                }
                let inputs: Vec<_> = samples.iter().map(|sample| sample.input.clone()).collect();
                let task = format!("ATTENTION_COMBINE {} -> F32[4]", "F32[1,6] ".repeat(count));
                let values = bounded(&task, &inputs);
                let maxima: Vec<f32> = samples.iter().map(|sample| sample.actual[4]).collect();
                let weights = random.weights(&maxima).1;
                let denominators: Vec<f32> = samples.iter().map(|sample| sample.actual[5]).collect();
                let denominator = random.dot(&weights, &denominators);
                let column = |d: usize| samples.iter().map(|sample| sample.actual[d]).collect::<Vec<f32>>();
                let found: Vec<f32> =
                    (0..4).map(|d| random.mean(&weights, &column(d), denominator)).collect();
                shares.judge(&random, &values, &found, &family);
            }
        }
        shares.assert_tight("ATTENTION_COMBINE", 0.2);
    }
}
