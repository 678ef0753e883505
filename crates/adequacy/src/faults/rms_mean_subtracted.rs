//! `rms-mean-subtracted`: takes the variance around the mean instead of the mean square.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rms-mean-subtracted",
    summary: "takes the variance around the mean instead of the mean square",
    opcodes: &[Opcode::RmsNorm],
    outputs: FLOATS,
    why: "",
    kernels: &RmsMeanSubtracted,
};

struct RmsMeanSubtracted;

impl Kernels for RmsMeanSubtracted {
    fn mean_square(&self, row: &[f32]) -> f64 {
        self.variance(row, self.mean(row))
    }
}
