//! `append-next-row`: appends at the row behind `pos`.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "append-next-row",
    summary: "appends at the row behind `pos`",
    opcodes: &[Opcode::KvAppend],
    outputs: FLOATS,
    why: "",
    kernels: &AppendNextRow,
};

struct AppendNextRow;

impl Kernels for AppendNextRow {
    fn append_row(&self, pos: usize, i: usize, _: usize) -> usize {
        pos + i + 1
    }
}
