//! `zero-point-after-scale`: subtracts the zero point after scaling.

use super::{Fault, FLOATS, QUANTISED};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "zero-point-after-scale",
    summary: "subtracts the zero point after scaling",
    opcodes: QUANTISED,
    outputs: FLOATS,
    why: "",
    kernels: &ZeroPointAfterScale,
};

struct ZeroPointAfterScale;

impl Kernels for ZeroPointAfterScale {
    fn weight(&self, q: f32, zero: Option<f32>, scale: f32) -> f64 {
        self.sub(self.mul(f64::from(q), f64::from(scale)), f64::from(zero.unwrap_or_default()))
    }
}
