//! `embed-next-row`: takes the row behind.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "embed-next-row",
    summary: "takes the row behind",
    opcodes: &[Opcode::Embed],
    outputs: FLOATS,
    why: "",
    kernels: &EmbedNextRow,
};

struct EmbedNextRow;

impl Kernels for EmbedNextRow {
    fn table_row(&self, id: i64) -> i64 {
        id + 1
    }
}
