//! `partial-tail-swapped`: writes the denominator of a partial before its maximum.

use megakernel_ir::{DType, Opcode};

use super::Fault;
use crate::kernels::{Kernels, Plain};
use crate::parts::Attended;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "partial-tail-swapped",
    summary: "writes the denominator of a partial before its maximum",
    opcodes: &[Opcode::AttentionTile],
    outputs: &[DType::F32],
    why: "a partial is F32",
    kernels: &PartialTailSwapped,
};

struct PartialTailSwapped;

impl Kernels for PartialTailSwapped {
    fn partial(&self, attended: Attended) -> Vec<f64> {
        let Attended { a, m, l } = attended;
        Plain.partial(Attended { a, m: l, l: m })
    }
}
