//! ADD (clause OPC-11): one addition.

use super::{Kernel, TaskView, Written, elementwise};
use crate::vm::bounded::Bounded;

pub(super) struct Add;

pub(super) static KERNEL: Add = Add;

impl Kernel for Add {
    fn run(&self, task: &TaskView<'_>) -> Written {
        elementwise::zip(task, |a, b| sum(task, a, b))
    }
}

/// The sum of two numbers as the output holds it.
pub(super) fn sum(task: &TaskView<'_>, a: Bounded, b: Bounded) -> Bounded {
    let is_finite = a.v.is_finite() && b.v.is_finite();
    if !is_finite || !a.is_specified() || !b.is_specified() {
        return a + b;
    }
    // Overflow is left to the cast.
    elementwise::single(a.v + b.v, task.output.dtype, a.e + b.e)
}

#[cfg(test)]
mod tests {
    use crate::vm::bounded::{Bounded, UNIT};
    use crate::vm::kernels::testing::{FAMILIES, Input, Random, Shares, assert_exact, bounded, reals};

    #[test]
    fn sums_are_correctly_rounded_to_f32() {
        // 1 + 2^-30 has no place in binary32, and is judged by its cast.
        let inputs = [reals(&[1.0, -3.0, f64::INFINITY, 0.0]), reals(&[2f64.powi(-30), 3.0, 1.0, -0.0])];
        let expected = [1.0 + 2f64.powi(-30), 0.0, f64::INFINITY, 0.0];
        assert_exact("ADD F32[4] F32[4] -> F32[4]", &inputs, &expected);
    }

    #[test]
    fn infinities_of_both_signs_are_nan() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let inputs = [reals(&[inf, nan, 1.0]), reals(&[-inf, 1.0, nan])];
        assert_exact("ADD F32[3] F32[3] -> F16[3]", &inputs, &[nan; 3]);
    }

    #[test]
    fn overflow_is_left_to_the_cast() {
        let large = f64::from(f32::MAX);
        let inputs = [reals(&[large]), reals(&[large])];
        assert_exact("ADD F32[1] F32[1] -> F32[1]", &inputs, &[2.0 * large]);
        let narrow = bounded("ADD F32[1] F32[1] -> F16[1]", &inputs);
        assert!(narrow[0].is_specified() && narrow[0].v == 2.0 * large);
    }

    #[test]
    fn a_narrower_output_may_be_rounded_twice() {
        let inputs = [reals(&[1.0, 1.0]), reals(&[2f64.powi(-30), 0.5])];
        let values = bounded("ADD F32[2] F32[2] -> BF16[2]", &inputs);
        assert!(values[0].e > UNIT && values[0].e < 1.001 * UNIT);
        assert_eq!(values[1], Bounded::exact(1.5));
    }

    #[test]
    fn errors_of_both_operands_count() {
        let inputs = [Input::Bounded(vec![1.0], vec![0.25]), Input::Bounded(vec![-1.0], vec![0.5])];
        let sum = bounded("ADD F32[1] F32[1] -> F32[1]", &inputs)[0];
        assert!(sum.v == 0.0 && sum.e >= 0.75 && sum.e < 0.750_001);
    }

    #[test]
    fn binary32_stays_within_the_bound() {
        let mut shares = Shares::default();
        for seed in 0..400 {
            let mut random = Random::new(seed);
            for family in FAMILIES {
                let [a, b] = [(), ()].map(|()| random.sample(family, 16));
                let values = bounded("ADD F32[16] F32[16] -> BF16[16]", &[a.input, b.input]);
                let found: Vec<f32> = a.actual.iter().zip(&b.actual).map(|(a, b)| a + b).collect();
                shares.judge(&random, &values, &found, &family);
            }
        }
        shares.assert_tight("ADD", 0.9);
    }
}
