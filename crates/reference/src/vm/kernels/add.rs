//! ADD (clause OPC-11): one addition.

use super::{Kernel, TaskView, Written, elementwise};
use crate::vm::bounded::Bounded;

pub(super) struct Add;

impl Kernel for Add {
    fn run(&self, task: &TaskView<'_>) -> Written {
        elementwise::zip(task, |a, b| sum(task, a, b))
    }
}

/// The sum of two numbers as the output holds it.
pub(super) fn sum(task: &TaskView<'_>, a: Bounded, b: Bounded) -> Bounded {
    let is_finite = a.v.is_finite() && b.v.is_finite();
    if !is_finite || !a.is_specified() || !b.is_specified() {
        return a + b;
    }
    // Overflow is left to the cast.
    elementwise::single(a.v + b.v, task.output.dtype, a.e + b.e)
}
