//! `partial-maximum-base-2`: writes the maximum of a partial in units of log 2.

use megakernel_ir::{DType, Opcode};

use super::Fault;
use crate::kernels::{Kernels, Plain};
use crate::parts::Attended;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "partial-maximum-base-2",
    summary: "writes the maximum of a partial in units of log 2",
    opcodes: &[Opcode::AttentionTile],
    outputs: &[DType::F32],
    why: "a partial is F32",
    kernels: &PartialMaximumBase2,
};

struct PartialMaximumBase2;

impl Kernels for PartialMaximumBase2 {
    fn partial(&self, mut attended: Attended) -> Vec<f64> {
        attended.m = self.mul(attended.m, f64::from(std::f32::consts::LOG2_E));
        Plain.partial(attended)
    }
}
