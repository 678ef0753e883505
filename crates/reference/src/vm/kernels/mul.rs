//! MUL (clause OPC-12): one multiplication, by another buffer or by `scale`.

use megakernel_ir::{DType, Param};

use super::{Kernel, TaskView, Written, elementwise};
use crate::vm::bounded::Bounded;

pub(super) struct Mul;

pub(super) static KERNEL: Mul = Mul;

impl Kernel for Mul {
    fn run(&self, task: &TaskView<'_>) -> Written {
        let dtype = task.output.dtype;
        if task.inputs.len() > 1 {
            return elementwise::zip(task, |a, b| product(a, b, dtype));
        }
        let scale = Bounded::exact(task.real(Param::Scale, 1.0));
        elementwise::map(task, |a| product(a, scale, dtype))
    }
}

/// The product of two numbers as an output of this dtype holds it.
pub(super) fn product(a: Bounded, b: Bounded, dtype: DType) -> Bounded {
    let (general, v) = (a.product(b), a.v * b.v);
    let is_finite = a.v.is_finite() && b.v.is_finite();
    if !is_finite || !a.is_specified() || !b.is_specified() {
        return general;
    }
    // Overflow is left to the cast.
    elementwise::single(v, dtype, a.v.abs() * b.e + b.v.abs() * a.e + a.e * b.e)
}

#[cfg(test)]
mod tests {
    use crate::vm::bounded::Bounded;
    use crate::vm::kernels::testing::{FAMILIES, Random, Shares, assert_exact, bounded, reals};

    #[test]
    fn products_are_correctly_rounded_to_f32() {
        let a = 1.0 + 2f64.powi(-23);
        let inputs = [reals(&[a, -2.0, 1e-30]), reals(&[a, 0.5, f64::from(1e-30_f32)])];
        let expected = [a * a, -1.0, 1e-30 * f64::from(1e-30_f32)];
        assert_exact("MUL F32[3] F32[3] -> F32[3]", &inputs, &expected);
    }

    #[test]
    fn one_input_is_multiplied_by_the_scale() {
        assert_exact("MUL F32[2] -> F32[2]; scale=0.5", &[reals(&[3.0, -0.25])], &[1.5, -0.125]);
        assert_exact("MUL F32[2] -> F32[2]", &[reals(&[3.0, -0.25])], &[3.0, -0.25]);
        assert_exact("MUL F32[1] F32[1] -> F32[1]; scale=7", &[reals(&[3.0]), reals(&[2.0])], &[6.0]);
        // The scale is the binary32 nearest to the number.
        assert_exact("MUL F32[1] -> F32[1]; scale=0.1", &[reals(&[1.0])], &[f64::from(0.1_f32)]);
    }

    #[test]
    fn zero_times_infinity_is_nan() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let inputs = [reals(&[0.0, inf, -inf, nan]), reals(&[inf, -2.0, 0.0, 0.0])];
        assert_exact("MUL F32[4] F32[4] -> F32[4]", &inputs, &[nan, -inf, nan, nan]);
    }

    #[test]
    fn a_narrower_output_may_be_rounded_twice() {
        let inputs = [reals(&[1.1f32.into(), 1.5]), reals(&[1.1f32.into(), 1.5])];
        let values = bounded("MUL F32[2] F32[2] -> F16[2]", &inputs);
        assert!(values[0].e > 0.0 && values[0].e < 1e-7);
        assert_eq!(values[1], Bounded::exact(2.25));
    }

    #[test]
    fn binary32_stays_within_the_bound() {
        let mut shares = Shares::default();
        for seed in 0..400 {
            let mut random = Random::new(seed);
            for family in FAMILIES {
                let [a, b] = [(), ()].map(|()| random.sample(family, 16));
                let values = bounded("MUL F32[16] F32[16] -> F16[16]", &[a.input, b.input]);
                let found: Vec<f32> = a.actual.iter().zip(&b.actual).map(|(a, b)| a * b).collect();
                shares.judge(&random, &values, &found, &family);
            }
        }
        shares.assert_tight("MUL", 0.9);
    }
}
