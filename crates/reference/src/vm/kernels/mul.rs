//! MUL (clause OPC-12): one multiplication, by another buffer or by `scale`.

use megakernel_ir::{DType, Param};

use super::{Kernel, TaskView, Written, elementwise};
use crate::vm::bounded::Bounded;

pub(super) struct Mul;

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
