//! `attention-not-normalised`: does not divide by the denominator.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;
use crate::parts::Attended;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "attention-not-normalised",
    summary: "does not divide by the denominator",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &AttentionNotNormalised,
};

struct AttentionNotNormalised;

impl Kernels for AttentionNotNormalised {
    fn normalise(&self, attended: &Attended) -> Vec<f64> {
        attended.a.clone()
    }
}
