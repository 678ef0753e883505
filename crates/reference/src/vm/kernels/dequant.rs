//! DEQUANT (clause OPC-13): `(q - zero) * scale`.

use megakernel_ir::Param;

use super::view::last;
use super::{Kernel, TaskView, Written, mul, quant};

pub(super) struct Dequant;

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
