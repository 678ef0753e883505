//! `zero-point-ignored`: does not subtract the zero point.

use super::{Fault, FLOATS, QUANTISED};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "zero-point-ignored",
    summary: "does not subtract the zero point",
    opcodes: QUANTISED,
    outputs: FLOATS,
    why: "",
    kernels: &ZeroPointIgnored,
};

struct ZeroPointIgnored;

impl Kernels for ZeroPointIgnored {
    fn weight(&self, q: f32, _: Option<f32>, scale: f32) -> f64 {
        Plain.weight(q, None, scale)
    }
}
