//! `softmax-last-axis`: goes along the last axis, whatever `dim` says.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "softmax-last-axis",
    summary: "goes along the last axis, whatever `dim` says",
    opcodes: &[Opcode::Softmax],
    outputs: FLOATS,
    why: "",
    kernels: &SoftmaxLastAxis,
};

struct SoftmaxLastAxis;

impl Kernels for SoftmaxLastAxis {
    fn axis(&self, _: i64, rank: usize) -> usize {
        rank.saturating_sub(1)
    }
}
