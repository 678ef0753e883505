//! SILU_MUL (clause OPC-09): `gate / (1 + exp(-gate)) * up`.

use super::{Kernel, TaskView, Written, elementwise};
use crate::vm::bounded::Bounded;

pub(super) struct SiluMul;

pub(super) static KERNEL: SiluMul = SiluMul;

impl Kernel for SiluMul {
    fn run(&self, task: &TaskView<'_>) -> Written {
        elementwise::zip(task, |gate, up| silu(gate) * up)
    }
}

/// Below this, `exp(-gate)` is near the largest number of binary32, and `silu` falls towards zero from below.
const STEEP: f64 = -80.0;

/// `gate / (1 + exp(-gate))`, or `gate * (1 / (1 + exp(-gate)))`.
fn silu(gate: Bounded) -> Bounded {
    let exponential = (-gate).exp();
    if gate.is_specified() && gate.v.is_finite() && !exponential.is_specified() {
        return overflowing(gate);
    }
    let denominator = Bounded::ONE + exponential;
    let quotient = gate / denominator;
    if !quotient.is_specified() || !quotient.v.is_finite() {
        return quotient;
    }
    // One more rounding where the reciprocal is multiplied, and what follows where that is flushed to zero.
    let product = gate * (Bounded::ONE / denominator);
    Bounded { v: quotient.v, e: quotient.e.max(product.e + (product.v - quotient.v).abs()) }
}

/// Where `exp(-gate)` overflows, the result may be zero.
fn overflowing(gate: Bounded) -> Bounded {
    let silu = |gate: f64| gate / (1.0 + libm::exp(-gate));
    let (v, nearest) = (silu(gate.v), gate.v + gate.e);
    if nearest > STEEP {
        return Bounded::UNSPECIFIED;
    }
    // Not less than the error of an exponential of this size; and never quite zero, for the sign's sake.
    let largest = silu(nearest).abs() * (1.0 + 1.0 / 16_384.0);
    Bounded { v, e: v.abs().max(largest - v.abs()).max(f64::MIN_POSITIVE) }
}

#[cfg(test)]
mod tests {
    use crate::vm::kernels::testing::{
        FAMILIES, Family, Random, Shares, assert_exact, assert_near, bounded, reals,
    };

    const TASK: &str = "SILU_MUL F32[3] F32[3] -> F32[3]";

    #[test]
    fn known_values() {
        let expected = [3.0 / (1.0 + (-1.0f64).exp()), -4.0 / (1.0 + 2f64.exp()), 30.0];
        assert_near(TASK, &[reals(&[1.0, -2.0, 30.0]), reals(&[3.0, 2.0, 1.0 + 1e-13])], &expected);
        assert_exact(TASK, &[reals(&[0.0, 0.0, -0.0]), reals(&[3.0, -2.0, 1.0])], &[0.0; 3]);
    }

    #[test]
    fn special_values() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let expected = [inf, nan, nan];
        assert_exact(TASK, &[reals(&[inf, -inf, nan]), reals(&[3.0, 2.0, 1.0])], &expected);
        let expected = [nan, -inf, inf];
        assert_exact(TASK, &[reals(&[0.0, inf, 2.0]), reals(&[inf, -1.0, inf])], &expected);
    }

    #[test]
    fn an_exponential_that_overflows_may_give_zero_and_nothing_else() {
        let values = bounded(TASK, &[reals(&[-89.0, -1000.0, -100.0]), reals(&[2.0, 1e30, f64::INFINITY])]);
        assert!(values[0].v < 0.0 && (values[0].e / -values[0].v - 1.0).abs() < 1e-6);
        assert!(values[1].v == 0.0 && values[1].e < 1e-45);
        // Zero times infinity, or nearly zero times infinity.
        assert!(!values[2].is_specified());
    }

    #[test]
    fn binary32_stays_within_the_bound() {
        let mut shares = Shares::default();
        for seed in 0..400 {
            let mut random = Random::new(seed);
            for family in FAMILIES {
                let [mut gate, up] = [(), ()].map(|()| random.sample(family, 8));
                if seed % 4 == 0 && family == Family::Small {
                    // Around the point where the exponential overflows.
                    gate.actual.iter_mut().for_each(|gate| *gate *= 11.25);
                    gate.input = reals(&gate.actual.iter().map(|&gate| gate.into()).collect::<Vec<_>>());
                }
                let values = bounded("SILU_MUL F32[8] F32[8] -> F32[8]", &[gate.input, up.input]);
                let mut silu = |gate: f32, up: f32| {
                    let denominator = 1.0 + random.exp(-gate);
                    let silu = if random.coin() {
                        random.div(gate, denominator)
                    } else {
                        gate * random.div(1.0, denominator)
                    };
                    silu * up
                };
                let found: Vec<f32> = gate.actual.iter().zip(&up.actual).map(|(&g, &u)| silu(g, u)).collect();
                shares.judge(&random, &values, &found, &family);
            }
        }
        shares.assert_tight("SILU_MUL", 0.5);
    }
}
