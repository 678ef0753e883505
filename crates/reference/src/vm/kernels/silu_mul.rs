//! SILU_MUL (clause OPC-09): `gate / (1 + exp(-gate)) * up`.

use super::{Kernel, TaskView, Written, elementwise};
use crate::vm::bounded::Bounded;

pub(super) struct SiluMul;

impl Kernel for SiluMul {
    fn run(&self, task: &TaskView<'_>) -> Written {
        elementwise::zip(task, |gate, up| silu(gate) * up)
    }
}

/// Below this, `exp(-gate)` is near the largest number of binary32, and `silu` falls towards zero from below.
const STEEP: f64 = -80.0;

/// `gate / (1 + exp(-gate))`, or `gate * (1 / (1 + exp(-gate)))`.
fn silu(gate: Bounded) -> Bounded {
    let exponential = (-gate).exp();
    if gate.is_specified() && gate.v.is_finite() && !exponential.is_specified() {
        return overflowing(gate);
    }
    let denominator = Bounded::ONE + exponential;
    let quotient = gate / denominator;
    if !quotient.is_specified() || !quotient.v.is_finite() {
        return quotient;
    }
    // One more rounding where the reciprocal is multiplied, and what follows where that is flushed to zero.
    let product = gate * (Bounded::ONE / denominator);
    Bounded { v: quotient.v, e: quotient.e.max(product.e + (product.v - quotient.v).abs()) }
}

/// Where `exp(-gate)` overflows, the result may be zero.
fn overflowing(gate: Bounded) -> Bounded {
    let silu = |gate: f64| gate / (1.0 + libm::exp(-gate));
    let (v, nearest) = (silu(gate.v), gate.v + gate.e);
    if nearest > STEEP {
        return Bounded::UNSPECIFIED;
    }
    // Not less than the error of an exponential of this size; and never quite zero, for the sign's sake.
    let largest = silu(nearest).abs() * (1.0 + 1.0 / 16_384.0);
    Bounded { v, e: v.abs().max(largest - v.abs()).max(f64::MIN_POSITIVE) }
}
