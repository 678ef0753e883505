//! LAYERNORM (clause OPC-04): `(x - mean) / sqrt(variance + eps) * w + b` for each run of `hidden` elements.

use megakernel_ir::Param;

use super::view::Line;
use super::{Kernel, TaskView, Written};
use crate::vm::bounded::{Bounded, LARGEST, SMALLEST_NORMAL, TINY, UNIT, gamma};
use crate::vm::sum::Sum;

pub(super) struct LayerNorm;

pub(super) static KERNEL: LayerNorm = LayerNorm;

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
            for (index, ((x, deviation), w)) in run.iter().zip(deviations).zip(w.iter()).enumerate() {
                let y = normalised(x, mean, deviation, scale, w);
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

/// `(x - mean) s w` in any order, or `(x s - mean s) w`.
fn normalised(x: Bounded, mean: Bounded, deviation: Bounded, scale: Bounded, w: Bounded) -> Bounded {
    if !scale.v.is_finite() || !deviation.v.is_finite() {
        return Bounded::product_of(deviation, scale, w);
    }
    let magnitudes = [x, mean].map(|factor| if factor.is_zero() { 0.0 } else { factor.magnitude() });
    // The two products of the second form are an intermediate value like others: without a bound if they overflow.
    if magnitudes.iter().any(|magnitude| magnitude * scale.magnitude() > LARGEST) {
        return Bounded::UNSPECIFIED;
    }
    // Each product is off by its rounding, as if x and the mean themselves had been rounded.
    let rounded: f64 = magnitudes.iter().map(|magnitude| gamma(1.0, UNIT) * magnitude).sum();
    let y = Bounded::product_of(deviation.widened(rounded), scale, w);
    // Where they underflow, that is too little.
    if y.is_zero() { y } else { y.widened(2.0 * TINY * w.magnitude().max(1.0)) }
}

#[cfg(test)]
mod tests {
    use super::{Line, mean, variance};
    use crate::vm::bounded::{Bounded, UNIT};
    use crate::vm::kernels::testing::{
        FAMILIES, Family, Random, Shares, assert_exact, assert_near, bounded, reals,
    };

    #[test]
    fn known_values() {
        // Mean 3, biased variance 5.
        let s = 1.0 / (5.0 + 0.25f64).sqrt();
        let task = "LAYERNORM F32[4] F32[4] F32[4] -> F32[4]; eps=0.25 hidden=4";
        let expected = [-3.0 * s + 1.0, -s + 1.0, 2.0 * s + 1.0, -9.0 * s - 1.0];
        let inputs =
            [reals(&[0.0, 2.0, 4.0, 6.0]), reals(&[1.0, 1.0, 2.0, -3.0]), reals(&[1.0, 1.0, 1.0, -1.0])];
        assert_near(task, &inputs, &expected);
        let task = "LAYERNORM F32[4] F32[4] -> F32[4]; eps=0.25 hidden=4";
        assert_near(task, &inputs[..2], &[-3.0 * s, -s, 2.0 * s, -9.0 * s]);
    }

    #[test]
    fn runs_may_span_axes() {
        let task = "LAYERNORM F32[2,2,2] F32[2,2] -> F32[2,2,2]; eps=0 hidden=4";
        let x = [1.0, -1.0, 1.0, -1.0, 9.0, 7.0, 9.0, 7.0];
        assert_near(task, &[reals(&x), reals(&[1.0; 4])], &[1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0]);
    }

    #[test]
    fn constant_runs_give_the_bias_up_to_the_rounding_of_two_products() {
        let task = "LAYERNORM F32[4] F32[4] F32[4] -> F32[4]; eps=0.0625 hidden=4";
        let bias = [1.0, -2.5, 0.0, 1e-3f32.into()];
        let values = bounded(task, &[reals(&[7.0; 4]), reals(&[3.0; 4]), reals(&bias)]);
        // Each of two products of 7 and 4 may be off by half a unit; times 3, and the sum with the bias is rounded.
        let products = 2.0 * 7.0 * 4.0 * 3.0 * UNIT;
        for (value, bias) in values.iter().zip(bias) {
            let expected = products + UNIT * bias.abs();
            assert!(value.v == bias && value.e >= expected && value.e < 1.001 * expected, "{value:?}");
        }
        // Nothing is rounded where the weight or the elements are zero.
        assert_exact(task, &[reals(&[7.0; 4]), reals(&[0.0; 4]), reals(&bias)], &bias);
        assert_exact(task, &[reals(&[0.0; 4]), reals(&[3.0; 4]), reals(&bias)], &bias);
    }

    #[test]
    fn a_scaled_element_beyond_binary32_leaves_nothing_to_judge() {
        let task = "LAYERNORM F32[2] F32[2] -> F32[2]; eps=0.0001 hidden=2";
        let inputs = [reals(&[1e37; 2]), reals(&[1.0; 2])];
        assert!(bounded(task, &inputs).iter().all(|value| !value.is_specified()));
    }

    #[test]
    fn special_values() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let task = "LAYERNORM F32[2] F32[2] -> F32[2]; eps=0 hidden=2";
        assert_exact(task, &[reals(&[7.0, 7.0]), reals(&[1.0, 1.0])], &[nan, nan]);
        assert_exact(task, &[reals(&[inf, 7.0]), reals(&[1.0, 1.0])], &[nan, nan]);
        assert_exact(task, &[reals(&[nan, 7.0]), reals(&[1.0, 1.0])], &[nan, nan]);
    }

    #[test]
    fn a_difference_of_moments_is_outside_of_the_bound() {
        let x: Vec<f32> = (0..16).map(|i| 4096.0 + (i * 5 % 7) as f32 / 16.0).collect();
        let n = x.len() as f32;
        let mean = x.iter().sum::<f32>() / n;
        let square = x.iter().map(|x| x * x).sum::<f32>() / n;
        let wrong = (x[1] - mean) / (square - mean * mean + 1e-5).sqrt();
        let input = reals(&x.iter().map(|&x| x.into()).collect::<Vec<_>>());
        let task = "LAYERNORM F32[16] F32[16] -> F32[16]; eps=1e-5 hidden=16";
        let value = bounded(task, &[input, reals(&[1.0; 16])])[1];
        let error = (f64::from(wrong) - value.v).abs();
        assert!(error.is_nan() || error > 2.0 * value.e, "{wrong} and {value:?}");
    }

    /// Mean and sum of squared deviations in one pass.
    fn welford(random: &mut Random, x: &[f32]) -> [f32; 2] {
        let (mut mean, mut squares) = (0.0_f32, 0.0_f32);
        for (index, &x) in x.iter().enumerate() {
            let deviation = x - mean;
            mean += random.div(deviation, index as f32 + 1.0);
            squares += deviation * (x - mean);
        }
        [mean, squares]
    }

    #[test]
    fn the_variance_of_a_running_mean_is_within_its_bound() {
        let mut largest: f64 = 0.0;
        for seed in 0..2000 {
            let mut random = Random::new(2 * seed);
            let length = 2 + random.below(8);
            let offset = [0.0, 100.0, 1e4][random.below(3)];
            let x: Vec<f32> =
                random.sample(Family::Plain, length).actual.iter().map(|x| x + offset).collect();
            let values: Vec<f64> = x.iter().map(|&x| x.into()).collect();
            let run = Line { values: &values, bounds: None };
            let mean = mean(run);
            let deviations: Vec<Bounded> = run.iter().map(|x| x - mean).collect();
            let expected = variance(run, &deviations, mean);
            let [held_mean, squares] = welford(&mut random, &x);
            let held = f64::from(random.div(squares, length as f32));
            assert!((f64::from(held_mean) - mean.v).abs() <= mean.e, "mean of {x:?}");
            largest = largest.max((held - expected.v).abs() / expected.e);
        }
        println!("variance: largest share {largest:.3}");
        assert!(largest > 0.05 && largest <= 1.0, "{largest}");
    }

    #[test]
    fn binary32_stays_within_the_bound() {
        let mut shares = Shares::default();
        for seed in 0..300 {
            let mut random = Random::new(seed);
            for family in FAMILIES {
                let length = 2 + random.below(30);
                let [mut x, w, b] = [(), (), ()].map(|()| random.sample(family, length));
                if family == Family::Plain && random.coin() {
                    // A mean that is large for the deviations.
                    x.actual.iter_mut().for_each(|x| *x += 1000.0);
                    x.input = reals(&x.actual.iter().map(|&x| x.into()).collect::<Vec<_>>());
                }
                let eps = if family == Family::Tiny { 1e-5_f32 } else { 1e-3 };
                let task = format!(
                    "LAYERNORM F32[{length}] F32[{length}] F32[{length}] -> F32[{length}]; eps={eps:e} hidden={length}"
                );
                let values = bounded(&task, &[x.input, w.input, b.input]);
                let n = length as f32;
                let [mean, squares] = if random.coin() {
                    welford(&mut random, &x.actual)
                } else {
                    let sum = random.sum(x.actual.clone());
                    let mean = random.div(sum, n);
                    let deviations: Vec<f32> = x.actual.iter().map(|x| x - mean).collect();
                    [mean, random.dot(&deviations, &deviations)]
                };
                let variance = random.div(squares, n);
                let scale = random.inverse_root(variance + eps);
                let shift = mean * scale;
                let form = random.below(3);
                let found: Vec<f32> = (0..length)
                    .map(|i| {
                        let (x, w) = (x.actual[i], w.actual[i]);
                        b.actual[i]
                            + match form {
                                0 => random.product(x - mean, scale, w),
                                1 => (x * scale - shift) * w,
                                _ => x.mul_add(scale, -shift) * w,
                            }
                    })
                    .collect();
                shares.judge(&random, &values, &found, &family);
            }
        }
        shares.assert_tight("LAYERNORM", 0.1);
    }
}
