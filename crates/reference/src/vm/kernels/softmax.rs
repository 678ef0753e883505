//! SOFTMAX (clause OPC-14): `exp(x - max) / sum(exp(x - max))` along one axis.

use megakernel_ir::Param;

use super::view::extent;
use super::weights::{Reference, Weights};
use super::{Kernel, TaskView, Written};
use crate::vm::bounded::{Bounded, UNIT};
use crate::vm::sum::Sum;

pub(super) struct Softmax;

impl Kernel for Softmax {
    fn run(&self, task: &TaskView<'_>) -> Written {
        let (x, shape) = (task.reals(0), task.shape(0));
        let rank = i64::try_from(shape.len()).unwrap_or(0);
        let dim = task.params.int(Param::Dim).unwrap_or(-1);
        let axis = extent(if dim < 0 { dim.saturating_add(rank) } else { dim });
        let length = shape.get(axis).map_or(0, |&length| extent(length));
        // Elements of a line are this far apart.
        let stride: usize = shape.iter().skip(axis.saturating_add(1)).map(|&size| extent(size)).product();
        let mut values = vec![Bounded::UNSPECIFIED; x.len()];
        let mut line = Vec::with_capacity(length);
        for block in 0..x.len().checked_div(length.saturating_mul(stride)).unwrap_or(0) {
            for offset in 0..stride {
                let index = |i: usize| (block * length + i) * stride + offset;
                line.clear();
                line.extend((0..length).map(|i| x.at(index(i))));
                for (i, y) in softmax(&line).into_iter().enumerate() {
                    if let Some(value) = values.get_mut(index(i)) {
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
