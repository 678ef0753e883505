//! `rms-weight-missing`: does not multiply by the weight.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rms-weight-missing",
    summary: "does not multiply by the weight",
    opcodes: &[Opcode::RmsNorm],
    outputs: FLOATS,
    why: "",
    kernels: &RmsWeightMissing,
};

struct RmsWeightMissing;

impl Kernels for RmsWeightMissing {
    fn rms_element(&self, x: f64, factor: f64, _: f64, _: DType) -> f64 {
        self.mul(x, factor)
    }
}
