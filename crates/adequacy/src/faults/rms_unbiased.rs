//! `rms-unbiased`: divides the sum of squares by one less than their number.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;
use crate::parts::Site;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rms-unbiased",
    summary: "divides the sum of squares by one less than their number",
    opcodes: &[Opcode::RmsNorm],
    outputs: FLOATS,
    why: "",
    kernels: &RmsUnbiased,
};

struct RmsUnbiased;

impl Kernels for RmsUnbiased {
    fn mean_square(&self, row: &[f32]) -> f64 {
        self.div(self.dot(Site::Squares, row, row), row.len() as f64 - 1.0)
    }
}
