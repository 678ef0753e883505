//! `rms-eps-missing`: leaves out eps.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rms-eps-missing",
    summary: "leaves out eps",
    opcodes: &[Opcode::RmsNorm],
    outputs: FLOATS,
    why: "",
    kernels: &RmsEpsMissing,
};

struct RmsEpsMissing;

impl Kernels for RmsEpsMissing {
    fn rms_factor(&self, mean_square: f64, _: f64, n: usize) -> f64 {
        Plain.rms_factor(mean_square, 0.0, n)
    }
}
