//! GELU (clause OPC-10): `x / 2 * (1 + erf(x / sqrt(2)))`.

use std::f64::consts::FRAC_1_SQRT_2;

use super::{Kernel, TaskView, Written, elementwise};
use crate::vm::bounded::{Bounded, TINY, fits_binary32, rounding};

pub(super) struct Gelu;

/// Units that the argument of erf may be off by: a division, and its rounded divisor.
const ARGUMENT: f64 = 5.0;

impl Kernel for Gelu {
    fn run(&self, task: &TaskView<'_>) -> Written {
        elementwise::map(task, gelu)
    }
}

fn gelu(x: Bounded) -> Bounded {
    // The factors may be multiplied in any order, so twice x may be an intermediate result.
    let Bounded { e, .. } = Bounded::checked(2.0 * x.v, 2.0 * x.e);
    if x.v.is_finite() && e.is_infinite() {
        return Bounded::UNSPECIFIED;
    }
    let argument = Bounded { v: x.v * FRAC_1_SQRT_2, e: x.e * FRAC_1_SQRT_2 };
    let argument = argument.widened(rounding(x.magnitude() * FRAC_1_SQRT_2, ARGUMENT));
    let mut half = Bounded { v: x.v / 2.0, e: x.e / 2.0 };
    if !fits_binary32(half.v) {
        half = half.widened(TINY);
    }
    half * (Bounded::ONE + argument.erf())
}
