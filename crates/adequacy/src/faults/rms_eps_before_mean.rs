//! `rms-eps-before-mean`: adds eps to the sum of squares instead of their mean.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rms-eps-before-mean",
    summary: "adds eps to the sum of squares instead of their mean",
    opcodes: &[Opcode::RmsNorm],
    outputs: FLOATS,
    why: "",
    kernels: &RmsEpsBeforeMean,
};

struct RmsEpsBeforeMean;

impl Kernels for RmsEpsBeforeMean {
    fn rms_factor(&self, mean_square: f64, eps: f64, n: usize) -> f64 {
        Plain.rms_factor(mean_square, self.div(eps, n as f64), n)
    }
}
