//! DEQUANT (clause OPC-13): `(q - zero) * scale`.

use megakernel_ir::Param;

use super::view::last;
use super::{Kernel, TaskView, Written, mul, quant};

pub(super) struct Dequant;

pub(super) static KERNEL: Dequant = Dequant;

impl Kernel for Dequant {
    fn run(&self, task: &TaskView<'_>) -> Written {
        let width = last(task.output.shape);
        let group = task.size(Param::Group);
        let weights = quant::Weights::of(task, 0, width);
        let rows = weights.rows();
        let mut values = Vec::with_capacity(rows.saturating_mul(width));
        for row in 0..rows {
            for column in 0..width {
                let group = column.checked_div(group).unwrap_or(0);
                let difference = weights.difference(row, column, group);
                values.push(mul::product(difference, weights.scale(row, group), task.output.dtype));
            }
        }
        Written::Reals(values)
    }
}

#[cfg(test)]
mod tests {
    use crate::vm::kernels::testing::{Input, Random, Shares, assert_exact, bounded, ints, reals};

    #[test]
    fn groups_have_their_scales_and_zeros() {
        let q = ints(&[1, -2, 3, 4, -128, 127]);
        let task = "DEQUANT I8[6] F32[2] -> F32[6]; qdtype=6 group=4";
        let expected = [0.5, -1.0, 1.5, 2.0, -256.0, 254.0];
        assert_exact(task, &[q.clone(), reals(&[0.5, 2.0])], &expected);
        let task = "DEQUANT I8[2,3] F32[2,2] U8[2,2] -> F32[2,3]; qdtype=6 group=2";
        let expected = [0.0, -1.5, 2.0, 4.0, -128.0, -512.0];
        assert_exact(task, &[q, reals(&[0.5, 1.0, 1.0, 4.0]), ints(&[1, 1, 0, 255])], &expected);
    }

    #[test]
    fn nibbles_are_biased_and_the_even_column_is_low() {
        let expected = [-8.0, 7.0, -7.0, 0.0];
        let task = "DEQUANT U8[2] F32[1] -> F32[4]; qdtype=7 group=4";
        assert_exact(task, &[ints(&[0xf0, 0x81]), reals(&[1.0])], &expected);
        let task = "DEQUANT I4[4] F32[1] F32[1] -> F32[4]; qdtype=7 group=4";
        let expected = expected.map(|q| (q - 0.5) * 2.0);
        assert_exact(task, &[ints(&[0, 15, 1, 8]), reals(&[2.0]), reals(&[0.5])], &expected);
    }

    #[test]
    fn special_scales() {
        let task = "DEQUANT I8[3] F32[3] -> F32[3]; qdtype=6 group=1";
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert_exact(task, &[ints(&[0, -1, 5]), reals(&[inf, inf, nan])], &[nan, -inf, nan]);
    }

    #[test]
    fn binary32_stays_within_the_bound() {
        let mut shares = Shares::default();
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let q = random.integers(32, -128, 127);
            let family = crate::vm::kernels::testing::FAMILIES[random.below(5)];
            let [scales, zeros] = [(), ()].map(|()| random.sample(family, 4));
            let task = "DEQUANT I8[2,16] F32[2,2] F32[2,2] -> BF16[2,16]; qdtype=6 group=9";
            let values = bounded(task, &[Input::Ints(q.clone()), scales.input, zeros.input]);
            let group = |index: usize| index / 16 * 2 + index % 16 / 9;
            let weight = |(index, &q): (usize, &i64)| {
                (q as f32 - zeros.actual[group(index)]) * scales.actual[group(index)]
            };
            let found: Vec<f32> = q.iter().enumerate().map(weight).collect();
            shares.judge(&random, &values, &found, &family);
        }
        shares.assert_tight("DEQUANT", 0.8);
    }
}
