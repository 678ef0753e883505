//! `softmax-common-maximum`: subtracts the maximum of the whole operand instead of that of the line.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;
use crate::parts::Site;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "softmax-common-maximum",
    summary: "subtracts the maximum of the whole operand instead of that of the line",
    opcodes: &[Opcode::Softmax],
    outputs: FLOATS,
    why: "",
    kernels: &SoftmaxCommonMaximum,
};

struct SoftmaxCommonMaximum;

impl Kernels for SoftmaxCommonMaximum {
    fn softmax(&self, line: &[f32], all: &[f32]) -> Vec<f64> {
        let m = self.maximum(all);
        let weights: Vec<f32> = line.iter().map(|&x| self.exponential(f64::from(x), m) as f32).collect();
        let l = self.sum(Site::Denominator, &weights);
        weights.iter().map(|&weight| self.div(f64::from(weight), l)).collect()
    }
}
