//! `append-row-zero`: appends at row 0, whatever `pos` says.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "append-row-zero",
    summary: "appends at row 0, whatever `pos` says",
    opcodes: &[Opcode::KvAppend],
    outputs: FLOATS,
    why: "",
    kernels: &AppendRowZero,
};

struct AppendRowZero;

impl Kernels for AppendRowZero {
    fn append_row(&self, _: usize, i: usize, _: usize) -> usize {
        i
    }
}
