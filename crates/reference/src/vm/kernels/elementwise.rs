//! What the opcodes share that compute each element from the same element of their inputs.

use megakernel_ir::DType;

use super::{TaskView, Written};
use crate::vm::bounded::{Bounded, fits_binary32, rounding};

/// One element for each of input 0, from the elements of inputs 0 and 1.
pub(super) fn zip(task: &TaskView<'_>, f: impl Fn(Bounded, Bounded) -> Bounded) -> Written {
    Written::Reals(task.reals(0).iter().zip(task.reals(1).iter()).map(|(a, b)| f(a, b)).collect())
}

/// One element for each of input 0.
pub(super) fn map(task: &TaskView<'_>, f: impl FnMut(Bounded) -> Bounded) -> Written {
    Written::Reals(task.reals(0).iter().map(f).collect())
}

/// The result of an opcode that is one addition or multiplication of finite operands (NUM-05): `v` is the result
/// in binary64, and `propagated` what the errors of the operands make of it.
///
/// From exact operands to F32 the result is the correctly rounded one. That `v` may be rounded itself does not
/// change it: 53 bits are enough for a sum or a product of two numbers of 24 bits.
pub(super) fn single(v: f64, dtype: DType, propagated: f64) -> Bounded {
    if propagated == 0.0 && (dtype == DType::F32 || fits_binary32(v)) {
        return Bounded::exact(v);
    }
    Bounded { v, e: propagated + rounding(v.abs() + propagated, 1.0) }
}
