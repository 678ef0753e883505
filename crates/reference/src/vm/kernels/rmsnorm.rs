//! RMSNORM (clause OPC-03): `x / sqrt(mean(x^2) + eps) * w`.

use megakernel_ir::Param;

use super::dot::dot;
use super::view::{Line, last};
use super::{Kernel, TaskView, Written};
use crate::vm::bounded::{Bounded, UNIT};

pub(super) struct RmsNorm;

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
