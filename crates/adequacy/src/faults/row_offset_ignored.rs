//! `row-offset-ignored`: takes the rows of x from the beginning, whatever `m_off` says.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "row-offset-ignored",
    summary: "takes the rows of x from the beginning, whatever `m_off` says",
    opcodes: &[Opcode::GemmTile],
    outputs: FLOATS,
    why: "",
    kernels: &RowOffsetIgnored,
};

struct RowOffsetIgnored;

impl Kernels for RowOffsetIgnored {
    fn x_row(&self, m: usize, m_off: usize) -> usize {
        m - m_off
    }
}
