//! `value-row-behind`: takes the value of the row before.

use std::ops::Range;

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "value-row-behind",
    summary: "takes the value of the row before",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &ValueRowBehind,
};

struct ValueRowBehind;

impl Kernels for ValueRowBehind {
    fn value_row(&self, row: usize, window: &Range<usize>) -> usize {
        row.saturating_sub(1).max(window.start)
    }
}
