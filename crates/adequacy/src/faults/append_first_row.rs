//! `append-first-row`: appends the first of several rows only.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "append-first-row",
    summary: "appends the first of several rows only",
    opcodes: &[Opcode::KvAppend],
    outputs: FLOATS,
    why: "",
    kernels: &AppendFirstRow,
};

struct AppendFirstRow;

impl Kernels for AppendFirstRow {
    fn append_rows(&self, n: usize) -> usize {
        n.min(1)
    }
}
