//! ATTENTION_COMBINE (clause OPC-18): partial results of ATTENTION_TILE, weighed by their maxima and merged.

use super::view::{Line, last};
use super::weights::{self, Reference, Weights};
use super::{Kernel, TaskView, Written};
use crate::vm::bounded::{Bounded, UNIT};
use crate::vm::sum::Sum;

pub(super) struct AttentionCombine;

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
            sum.push(weight.product(x));
            spread += x.magnitude();
        }
        weights::mean(sum, denominator, UNIT, spread)
    };
    (0..head_dim).map(element).collect()
}
