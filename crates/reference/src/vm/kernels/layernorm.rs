//! LAYERNORM (clause OPC-04): `(x - mean) / sqrt(variance + eps) * w + b` for each run of `hidden` elements.

use megakernel_ir::Param;

use super::view::Line;
use super::{Kernel, TaskView, Written};
use crate::vm::bounded::{Bounded, SMALLEST_NORMAL, TINY, UNIT, gamma};
use crate::vm::sum::Sum;

pub(super) struct LayerNorm;

impl Kernel for LayerNorm {
    fn run(&self, task: &TaskView<'_>) -> Written {
        let (x, w) = (task.reals(0), task.reals(1));
        let b = task.inputs.get(2).map(|_| task.reals(2));
        let eps = Bounded::exact(task.real(Param::Eps, 0.0));
        let mut values = Vec::with_capacity(x.len());
        for run in x.rows(task.size(Param::Hidden)) {
            let mean = mean(run);
            let deviations: Vec<Bounded> = run.iter().map(|x| x - mean).collect();
            let scale = (variance(run, &deviations, mean) + eps).inverse_root();
            for (index, (deviation, w)) in deviations.into_iter().zip(w.iter()).enumerate() {
                let y = Bounded::product_of(deviation, scale, w);
                values.push(b.map_or(y, |b| y + b.at(index)));
            }
        }
        Written::Reals(values)
    }
}

/// The mean by a sum, or by a running mean (Welford).
fn mean(run: Line<'_>) -> Bounded {
    let n = run.len() as f64;
    let mut sum = Sum::new();
    run.iter().for_each(|x| sum.push(x));
    let mean = sum.finish(UNIT, 0.0) / Bounded::exact(n);
    let is_constant = run.values.iter().all(|&x| x == run.at(0).v);
    if (mean.is_exact() && is_constant) || !mean.v.is_finite() || !mean.is_specified() {
        return mean;
    }
    // A running mean is rounded at each of n steps, and so is what it adds.
    let running = input_error(run) + gamma(2.0 * n + 8.0, UNIT) * sum.magnitude() / n;
    mean.widened((running - mean.e).max(0.0))
}

/// What the errors of x make of the mean.
fn input_error(run: Line<'_>) -> f64 {
    run.iter().map(|x| x.e).sum::<f64>() / run.len() as f64
}

/// The variance by squared deviations from the mean, or by Welford's recurrence.
fn variance(run: Line<'_>, deviations: &[Bounded], mean: Bounded) -> Bounded {
    let n = run.len() as f64;
    let (mut squares, mut propagated) = (Sum::new(), 0.0);
    let shift = input_error(run);
    for (deviation, x) in deviations.iter().zip(run.iter()) {
        squares.push(deviation.product(*deviation));
        let moved = x.e + shift;
        propagated += (2.0 * deviation.v.abs() + moved) * moved / n;
    }
    let direct = squares.finish(UNIT, 1.0) / Bounded::exact(n);
    if !direct.v.is_finite() || !direct.is_specified() || direct.is_exact() {
        return direct;
    }
    // The deviations from the true mean add up to zero, so the mean's error enters a sum of squares by its
    // square alone; the recurrence is off by a multiple of the deviation.
    let (v, e) = (direct.v, mean.e);
    let moved = v + e * e + propagated;
    let relative = gamma(n + 8.0, UNIT) * moved;
    let flush = if v < SMALLEST_NORMAL { v } else { 0.0 };
    Bounded::checked(v, propagated + e * e + 4.0 * e * v.sqrt() + relative + 2.0 * TINY + flush)
}
