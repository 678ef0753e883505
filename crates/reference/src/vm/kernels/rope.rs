//! ROPE (clause OPC-08): each pair of elements, half a head apart, turned by an angle.

use megakernel_ir::Param;

use super::view::last;
use super::{Kernel, TaskView, Written};
use crate::vm::bounded::{Bounded, fits_binary32, rounding};

pub(super) struct Rope;

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
