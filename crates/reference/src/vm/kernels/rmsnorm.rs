//! RMSNORM (clause OPC-03): `x / sqrt(mean(x^2) + eps) * w`.

use megakernel_ir::Param;

use super::dot::dot;
use super::view::{Line, last};
use super::{Kernel, TaskView, Written};
use crate::vm::bounded::{Bounded, UNIT};

pub(super) struct RmsNorm;

pub(super) static KERNEL: RmsNorm = RmsNorm;

impl Kernel for RmsNorm {
    fn run(&self, task: &TaskView<'_>) -> Written {
        let (x, w) = (task.reals(0), task.reals(1));
        let eps = Bounded::exact(task.real(Param::Eps, 0.0));
        let mut values = Vec::with_capacity(x.len());
        for row in x.rows(last(task.shape(0))) {
            let scale = (mean_square(row) + eps).inverse_root();
            values.extend(row.iter().zip(w.iter()).map(|(x, w)| Bounded::product_of(x, scale, w)));
        }
        Written::Reals(values)
    }
}

fn mean_square(row: Line<'_>) -> Bounded {
    dot(row, row).finish(UNIT, 1.0) / Bounded::exact(row.len() as f64)
}

#[cfg(test)]
mod tests {
    use crate::vm::bounded::UNIT;
    use crate::vm::kernels::testing::{
        FAMILIES, Family, Random, Shares, assert_exact, assert_near, bounded, reals, specified,
    };

    #[test]
    fn known_values() {
        let s = 1.0 / (12.5 + 0.5f64).sqrt();
        let task = "RMSNORM F32[1,2] F32[2] -> F32[1,2]; eps=0.5 hidden=2";
        assert_near(task, &[reals(&[3.0, 4.0]), reals(&[2.0, -1.0])], &[6.0 * s, -4.0 * s]);
    }

    #[test]
    fn each_row_has_its_scale_and_eps_is_under_the_root() {
        let task = "RMSNORM F32[2,2] F32[1,2] -> F16[2,2]; eps=16 hidden=2";
        let expected = [0.6, 0.6, 0.0, 0.0];
        assert_near(task, &[reals(&[3.0, 3.0, 0.0, 0.0]), reals(&[1.0, 1.0])], &expected);
    }

    #[test]
    fn an_exact_sum_of_squares_leaves_the_root_and_two_products() {
        let task = "RMSNORM F32[1,4] F32[4] -> F32[1,4]; eps=0 hidden=4";
        let value = bounded(task, &[reals(&[1.0, 3.0, -5.0, 1.0]), reals(&[1.0; 4])])[1];
        assert!((value.v - 1.0).abs() < 1e-15 && value.e > 8.0 * UNIT && value.e < 8.01 * UNIT);
    }

    #[test]
    fn special_values() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let task = "RMSNORM F32[1,2] F32[2] -> F32[1,2]; eps=0 hidden=2";
        assert_exact(task, &[reals(&[0.0, 0.0]), reals(&[1.0, 1.0])], &[nan, nan]);
        assert_exact(task, &[reals(&[inf, 1.0]), reals(&[1.0, 1.0])], &[nan, 0.0]);
        assert_exact(task, &[reals(&[nan, 1.0]), reals(&[1.0, 1.0])], &[nan, nan]);
        // The square overflows in binary32, or may underflow.
        assert_eq!(specified(task, &[reals(&[1e30, 1.0]), reals(&[1.0, 1.0])]), [false; 2]);
        assert_eq!(specified(task, &[reals(&[1e-30, 1e-30]), reals(&[1.0, 1.0])]), [false; 2]);
    }

    #[test]
    fn binary32_stays_within_the_bound() {
        let mut shares = Shares::default();
        for seed in 0..300 {
            let mut random = Random::new(seed);
            for family in FAMILIES {
                let length = 1 + random.below(12);
                let [x, w] = [(), ()].map(|()| random.sample(family, length));
                let eps = if family == Family::Tiny || family == Family::Small { 1e-5_f32 } else { 0.0 };
                let task = format!(
                    "RMSNORM F32[1,{length}] F32[{length}] -> F32[1,{length}]; eps={eps:e} hidden={length}"
                );
                let values = bounded(&task, &[x.input, w.input]);
                let square = random.dot(&x.actual, &x.actual);
                let mean = random.div(square, length as f32);
                let scale = random.inverse_root(mean + eps);
                let pairs = x.actual.iter().zip(&w.actual);
                let found: Vec<f32> = pairs.map(|(&x, &w)| random.product(x, scale, w)).collect();
                shares.judge(&random, &values, &found, &family);
            }
        }
        shares.assert_tight("RMSNORM", 0.5);
    }
}
