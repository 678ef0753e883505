//! GELU (clause OPC-10): `x / 2 * (1 + erf(x / sqrt(2)))`.

use std::f64::consts::FRAC_1_SQRT_2;

use super::{Kernel, TaskView, Written, elementwise};
use crate::vm::bounded::{Bounded, SMALLEST_NORMAL, TINY, rounding};

pub(super) struct Gelu;

pub(super) static KERNEL: Gelu = Gelu;

/// Units that the argument of erf may be off by: a division, and its rounded divisor.
const ARGUMENT: f64 = 5.0;

impl Kernel for Gelu {
    fn run(&self, task: &TaskView<'_>) -> Written {
        elementwise::map(task, gelu)
    }
}

fn gelu(x: Bounded) -> Bounded {
    // The factors may be multiplied in any order, so twice x may be an intermediate result.
    let Bounded { e, .. } = Bounded::checked(2.0 * x.v, 2.0 * x.e);
    if x.v.is_finite() && e.is_infinite() {
        return Bounded::UNSPECIFIED;
    }
    let argument = Bounded { v: x.v * FRAC_1_SQRT_2, e: x.e * FRAC_1_SQRT_2 };
    let argument = argument.widened(rounding(x.magnitude() * FRAC_1_SQRT_2, ARGUMENT));
    let mut half = Bounded { v: x.v / 2.0, e: x.e / 2.0 };
    if !half.is_zero() && half.v.abs() < SMALLEST_NORMAL {
        // Whichever product comes first, it may underflow, and not only x / 2.
        half = half.widened(TINY);
    }
    half * (Bounded::ONE + argument.erf())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::bounded::UNIT;
    use crate::vm::kernels::testing::{FAMILIES, Random, Shares, assert_exact, assert_near, bounded, reals};

    #[test]
    fn known_values() {
        // The distribution function of the normal distribution at 1, -1 and 0.5.
        let expected = [0.841_344_746_068_542_9, -0.158_655_253_931_457_05, 0.345_731_230_637_006_6];
        assert_near("GELU F32[3] -> F32[3]", &[reals(&[1.0, -1.0, 0.5])], &expected);
        assert_exact("GELU F32[2] -> F32[2]", &[reals(&[0.0, -0.0])], &[0.0, 0.0]);
    }

    #[test]
    fn the_tanh_form_is_far_outside_of_the_bound() {
        let x: f64 = 2.0;
        let tanh =
            x / 2.0 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh());
        let value = bounded("GELU F32[1] -> F32[1]", &[reals(&[x])])[0];
        assert!((tanh - value.v).abs() > 100.0 * value.e);
        assert!(value.e < 14.0 * UNIT);
    }

    #[test]
    fn special_values() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert_exact("GELU F32[3] -> F32[3]", &[reals(&[inf, -inf, nan])], &[inf, nan, nan]);
        assert!(!bounded("GELU F32[1] -> F32[1]", &[reals(&[3e38])])[0].is_specified());
    }

    #[test]
    fn binary32_stays_within_the_bound() {
        let mut shares = Shares::default();
        for seed in 0..400 {
            let mut random = Random::new(seed);
            for family in FAMILIES {
                let x = random.sample(family, 8);
                let values = bounded("GELU F32[8] -> F32[8]", &[x.input]);
                let mut gelu = |x: f32| {
                    let argument = x * (FRAC_1_SQRT_2 as f32);
                    let erf = random.absolute(libm::erf(argument.into()), 8.0);
                    random.product(x, 0.5, 1.0 + if argument == 0.0 { 0.0 } else { erf })
                };
                let found: Vec<f32> = x.actual.iter().map(|&x| gelu(x)).collect();
                shares.judge(&random, &values, &found, &family);
            }
        }
        shares.assert_tight("GELU", 0.5);
    }
}
