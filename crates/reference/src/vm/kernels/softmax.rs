//! SOFTMAX (clause OPC-14): `exp(x - max) / sum(exp(x - max))` along one axis.

use megakernel_ir::Param;

use super::view::{extent, index};
use super::weights::{Reference, Weights};
use super::{Kernel, TaskView, Written};
use crate::vm::bounded::{Bounded, UNIT};
use crate::vm::sum::Sum;

pub(super) struct Softmax;

pub(super) static KERNEL: Softmax = Softmax;

impl Kernel for Softmax {
    fn run(&self, task: &TaskView<'_>) -> Written {
        let (x, shape) = (task.reals(0), task.shape(0));
        let rank = i64::try_from(shape.len()).unwrap_or(0);
        let dim = task.params.int(Param::Dim).unwrap_or(-1);
        let axis = extent(if dim < 0 { dim.saturating_add(rank) } else { dim });
        let length = shape.get(axis).map_or(0, |&length| extent(length));
        // Elements of a line are this far apart.
        let inner = shape.iter().skip(axis.saturating_add(1)).map(|&size| extent(size));
        let stride = inner.fold(1, usize::saturating_mul);
        let mut values = vec![Bounded::UNSPECIFIED; x.len()];
        let mut line = Vec::with_capacity(length);
        for block in 0..x.len().checked_div(length.saturating_mul(stride)).unwrap_or(0) {
            for offset in 0..stride {
                let at = |i: usize| index(index(block, length, i), stride, offset);
                line.clear();
                line.extend((0..length).map(|i| x.at(at(i))));
                for (i, y) in softmax(&line).into_iter().enumerate() {
                    if let Some(value) = values.get_mut(at(i)) {
                        *value = y;
                    }
                }
            }
        }
        Written::Reals(values)
    }
}

fn softmax(line: &[Bounded]) -> Vec<Bounded> {
    let Weights { max, weights } = Weights::of(line, Reference::Common);
    if max.v == f64::NEG_INFINITY {
        // exp(-inf + inf)
        return vec![Bounded::exact(f64::NAN); line.len()];
    }
    let sum = Sum::of(weights.iter().copied(), UNIT);
    weights.into_iter().map(|weight| weight / sum).collect()
}

#[cfg(test)]
mod tests {
    use crate::vm::bounded::{Bounded, UNIT};
    use crate::vm::kernels::testing::{
        FAMILIES, Family, Random, Shares, assert_exact, assert_near, bounded, reals,
    };

    #[test]
    fn known_values() {
        let e = 1f64.exp();
        let expected = [1.0 / (1.0 + e), e / (1.0 + e), 0.5, 0.5];
        assert_near("SOFTMAX F32[2,2] -> F32[2,2]", &[reals(&[2.0, 3.0, 0.0, 0.0])], &expected);
    }

    #[test]
    fn lines_run_along_dim() {
        // Each line is constant along the axis, so that its elements are 1 over its length.
        let x: Vec<f64> = (0..24).map(f64::from).map(|i| (i / 12.0).floor()).collect();
        assert_near("SOFTMAX F32[2,4,3] -> F32[2,4,3]; dim=1", &[reals(&x)], &[0.25; 24]);
        assert_near("SOFTMAX F32[2,4,3] -> F32[2,4,3]; dim=-2", &[reals(&x)], &[0.25; 24]);
        let rows = bounded("SOFTMAX F32[2,12] -> F32[2,12]", &[reals(&x)]);
        assert!(rows.iter().all(|y| (y.v - 1.0 / 12.0).abs() < 1e-16 && y.e > 0.0));
        // Zeros weigh 1, and only the division rounds: 4 units. The weights of ones are off by 6 (the products 2, the
        // exponential 4, no change of the reference point), their sum by those and its own 11, twelfths by all.
        assert!(rows[0].e < 4.1 / 12.0 * UNIT, "{:?}", rows[0]);
        assert!(rows[12].e > 26.5 / 12.0 * UNIT && rows[12].e < 27.5 / 12.0 * UNIT, "{:?}", rows[12]);
        let columns = bounded("SOFTMAX F32[2,12] -> F32[2,12]; dim=0", &[reals(&x)]);
        assert!(columns.iter().take(12).all(|y| (y.v - 1.0 / (1.0 + 1f64.exp())).abs() < 1e-15));
    }

    #[test]
    fn equal_elements_weigh_one_exactly_if_they_are_zero() {
        assert_exact("SOFTMAX F32[1,8] -> F32[1,8]", &[reals(&[0.0; 8])], &[0.125; 8]);
        let task = "SOFTMAX F32[3,1] -> F32[3,1]";
        let y = bounded(task, &[reals(&[-5.0, 1e30, 0.0])]);
        // Two products of 5 and the exponential, above and below, and the division.
        assert!(y[0].v == 1.0 && y[0].e > 28.0 * UNIT && y[0].e < 33.0 * UNIT, "{:?}", y[0]);
        // exp2 of the rounding of the one product may be anything.
        assert!(!y[1].is_specified());
        assert_eq!(y[2], Bounded::ONE);
    }

    #[test]
    fn special_values() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let task = "SOFTMAX F32[3] -> F32[3]";
        assert_exact(task, &[reals(&[-inf, 0.0, -inf])], &[0.0, 1.0, 0.0]);
        for line in [[nan, 0.0, 1.0], [inf, 0.0, 1.0], [-inf; 3]] {
            assert_exact(task, &[reals(&line)], &[nan; 3]);
        }
    }

    #[test]
    fn small_results_may_be_flushed() {
        let y: Vec<Bounded> = bounded("SOFTMAX F32[2] -> F32[2]", &[reals(&[-90.0, 0.0])]);
        assert!(y[0].v > 0.0 && y[0].e >= y[0].v && y[0].e < 1.01 * y[0].v);
    }

    #[test]
    fn binary32_stays_within_the_bound() {
        let mut shares = Shares::default();
        for seed in 0..300 {
            let mut random = Random::new(seed);
            for family in FAMILIES {
                let length = 1 + random.below(12);
                let mut x = random.sample(family, length);
                if family == Family::Wide {
                    x = random.sample(Family::Small, length);
                }
                let values = bounded(&format!("SOFTMAX F32[{length}] -> F32[{length}]"), &[x.input]);
                let weights = random.weights(&x.actual).1;
                let sum = random.sum(weights.clone());
                let found: Vec<f32> = weights.iter().map(|&weight| random.div(weight, sum)).collect();
                shares.judge(&random, &values, &found, &family);
            }
        }
        shares.assert_tight("SOFTMAX", 0.2);
    }
}
