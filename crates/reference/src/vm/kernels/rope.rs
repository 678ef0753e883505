//! ROPE (clause OPC-08): each pair of elements, half a head apart, turned by an angle.

use megakernel_ir::Param;

use super::view::last;
use super::{Kernel, TaskView, Written};
use crate::vm::bounded::{Bounded, fits_binary32, rounding};

pub(super) struct Rope;

pub(super) static KERNEL: Rope = Rope;

impl Kernel for Rope {
    fn run(&self, task: &TaskView<'_>) -> Written {
        let (x, positions) = (task.reals(0), task.ints(1));
        let head_dim = last(task.shape(0));
        let half = head_dim / 2;
        let theta = task.real(Param::Theta, 1.0);
        let frequency = |i: usize| Bounded::pow(theta, -(i as f64) / half as f64);
        let frequencies: Vec<Bounded> = (0..half).map(frequency).collect();
        let per_position = x.len().checked_div(positions.len()).unwrap_or(0);
        let mut values = Vec::with_capacity(x.len());
        for (&position, heads) in positions.iter().zip(x.rows(per_position)) {
            let position = converted(position);
            let turns: Vec<_> =
                frequencies.iter().map(|&frequency| (position * frequency).cos_sin()).collect();
            for head in heads.rows(head_dim) {
                let turned = |i: usize, turn: &[Bounded; 2]| {
                    let (&[cos, sin], a, b) = (turn, head.at(i), head.at(half + i));
                    [a * cos - b * sin, b * cos + a * sin]
                };
                let pairs: Vec<_> = turns.iter().enumerate().map(|(i, turn)| turned(i, turn)).collect();
                values.extend(pairs.iter().map(|&[first, _]| first));
                values.extend(pairs.iter().map(|&[_, second]| second));
            }
        }
        Written::Reals(values)
    }
}

/// A position as a number of binary32.
fn converted(position: i64) -> Bounded {
    let v = position as f64;
    if fits_binary32(v) { Bounded::exact(v) } else { Bounded { v, e: rounding(v.abs(), 1.0) } }
}

#[cfg(test)]
mod tests {
    use crate::vm::kernels::testing::{
        FAMILIES, Random, Shares, assert_exact, assert_near, bounded, ints, reals,
    };

    #[test]
    fn position_zero_turns_nothing() {
        let x: Vec<f64> = (0..8).map(f64::from).collect();
        let task = "ROPE F32[2,4] I32[1] -> F32[2,4]; head_dim=4 theta=10000";
        assert_exact(task, &[reals(&x), ints(&[0])], &x);
    }

    #[test]
    fn halves_are_paired_and_frequencies_fall() {
        let x = [1.0, 2.0, 3.0, 4.0];
        let (a, b) = (3f64, 3.0 * 100f64.powf(-0.5));
        let expected = [
            a.cos() - 3.0 * a.sin(),
            2.0 * b.cos() - 4.0 * b.sin(),
            3.0 * a.cos() + a.sin(),
            4.0 * b.cos() + 2.0 * b.sin(),
        ];
        let task = "ROPE F32[1,4] I32[1] -> F32[1,4]; head_dim=4 theta=100";
        assert_near(task, &[reals(&x), ints(&[3])], &expected);
    }

    #[test]
    fn each_row_has_its_position() {
        let x = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0];
        let (a, b) = (2f64, -1f64);
        let expected = [a.cos(), a.sin(), a.cos(), a.sin(), b.cos(), b.sin(), b.cos(), b.sin()];
        let task = "ROPE F32[2,2,2] I32[2] -> F32[2,2,2]; head_dim=2 theta=10000";
        assert_near(task, &[reals(&x), ints(&[2, -1])], &expected);
    }

    #[test]
    fn bounds_grow_with_the_position_and_end_at_the_radius() {
        let task = "ROPE F32[1,4] I32[1] -> F32[1,4]; head_dim=4 theta=10000";
        let e = |position| bounded(task, &[reals(&[1.0; 4]), ints(&[position])])[1].e;
        assert!(e(100) > 3.0 * e(10) && e(100) < 1e-4);
        assert!(e(i64::from(i32::MAX)) < 5.0);
    }

    #[test]
    fn special_values() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let task = "ROPE F32[1,2] I32[1] -> F32[1,2]; head_dim=2 theta=10000";
        assert_exact(task, &[reals(&[inf, 1.0]), ints(&[1])], &[inf, inf]);
        assert_exact(task, &[reals(&[nan, 1.0]), ints(&[1])], &[nan, nan]);
        assert_exact(task, &[reals(&[inf, inf]), ints(&[1])], &[nan, inf]);
    }

    #[test]
    fn binary32_stays_within_the_bound() {
        let mut shares = Shares::default();
        for seed in 0..300 {
            let mut random = Random::new(seed);
            for family in FAMILIES {
                let x = random.sample(family, 16);
                let farthest = [3, 100, 10_000][random.below(3)];
                let position = random.integers(1, 0, farthest)[0];
                let theta = [10_000f64, 500_000.0, 0.5][random.below(3)];
                let task = format!("ROPE F32[2,8] I32[1] -> F32[2,8]; head_dim=8 theta={theta}");
                let values = bounded(&task, &[x.input, ints(&[position])]);
                let mut found = vec![0.0_f32; 16];
                for i in 0..4 {
                    let angle = position as f32 * random.pow(theta, -(i as f64) / 4.0);
                    let [cos, sin] = if angle == 0.0 {
                        [1.0, 0.0]
                    } else {
                        [f64::from(angle).cos(), f64::from(angle).sin()].map(|v| random.absolute(v, 4.0))
                    };
                    for head in [0, 8] {
                        let (a, b) = (x.actual[head + i], x.actual[head + 4 + i]);
                        let fused = random.coin();
                        let turn = |x: f32, c: f32, y: f32, s: f32| {
                            if fused { x.mul_add(c, y * s) } else { x * c + y * s }
                        };
                        found[head + i] = turn(a, cos, -b, sin);
                        found[head + 4 + i] = turn(b, cos, a, sin);
                    }
                }
                shares.judge(&random, &values, &found, &(family, position, theta));
            }
        }
        shares.assert_tight("ROPE", 0.5);
    }
}
