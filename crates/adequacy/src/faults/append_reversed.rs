//! `append-reversed`: appends several rows in reverse.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "append-reversed",
    summary: "appends several rows in reverse",
    opcodes: &[Opcode::KvAppend],
    outputs: FLOATS,
    why: "",
    kernels: &AppendReversed,
};

struct AppendReversed;

impl Kernels for AppendReversed {
    fn append_row(&self, pos: usize, i: usize, n: usize) -> usize {
        pos + n - 1 - i
    }
}
