//! `partial-normalised`: writes a partial whose accumulator is divided by the denominator.

use megakernel_ir::{DType, Opcode};

use super::Fault;
use crate::kernels::{Kernels, Plain};
use crate::parts::Attended;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "partial-normalised",
    summary: "writes a partial whose accumulator is divided by the denominator",
    opcodes: &[Opcode::AttentionTile],
    outputs: &[DType::F32],
    why: "a partial is F32",
    kernels: &PartialNormalised,
};

struct PartialNormalised;

impl Kernels for PartialNormalised {
    fn partial(&self, mut attended: Attended) -> Vec<f64> {
        if attended.l > 0.0 {
            attended.a = Plain.normalise(&attended);
        }
        Plain.partial(attended)
    }
}
