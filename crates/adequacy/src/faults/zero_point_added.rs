//! `zero-point-added`: adds the zero point.

use super::{Fault, FLOATS, QUANTISED};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "zero-point-added",
    summary: "adds the zero point",
    opcodes: QUANTISED,
    outputs: FLOATS,
    why: "",
    kernels: &ZeroPointAdded,
};

struct ZeroPointAdded;

impl Kernels for ZeroPointAdded {
    fn weight(&self, q: f32, zero: Option<f32>, scale: f32) -> f64 {
        Plain.weight(q, zero.map(|zero| -zero), scale)
    }
}
