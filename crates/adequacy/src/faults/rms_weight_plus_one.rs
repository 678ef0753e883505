//! `rms-weight-plus-one`: multiplies by 1 + w.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rms-weight-plus-one",
    summary: "multiplies by 1 + w",
    opcodes: &[Opcode::RmsNorm],
    outputs: FLOATS,
    why: "",
    kernels: &RmsWeightPlusOne,
};

struct RmsWeightPlusOne;

impl Kernels for RmsWeightPlusOne {
    fn rms_element(&self, x: f64, factor: f64, w: f64, output: DType) -> f64 {
        Plain.rms_element(x, factor, self.add(1.0, w), output)
    }
}
