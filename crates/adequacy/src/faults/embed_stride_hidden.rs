//! `embed-stride-hidden`: takes rows at a distance of `hidden`, whatever the table's shape says.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "embed-stride-hidden",
    summary: "takes rows at a distance of `hidden`, whatever the table's shape says",
    opcodes: &[Opcode::Embed],
    outputs: FLOATS,
    why: "",
    kernels: &EmbedStrideHidden,
};

struct EmbedStrideHidden;

impl Kernels for EmbedStrideHidden {
    fn table_width(&self, _: usize, hidden: usize) -> usize {
        hidden
    }
}
