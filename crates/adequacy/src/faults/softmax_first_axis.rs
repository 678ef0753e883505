//! `softmax-first-axis`: goes along the first axis.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "softmax-first-axis",
    summary: "goes along the first axis",
    opcodes: &[Opcode::Softmax],
    outputs: FLOATS,
    why: "",
    kernels: &SoftmaxFirstAxis,
};

struct SoftmaxFirstAxis;

impl Kernels for SoftmaxFirstAxis {
    fn axis(&self, _: i64, _: usize) -> usize {
        0
    }
}
