//! `window-ends-late`: attends to the row behind the window as well.

use std::ops::Range;

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "window-ends-late",
    summary: "attends to the row behind the window as well",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &WindowEndsLate,
};

struct WindowEndsLate;

impl Kernels for WindowEndsLate {
    fn window(&self, start: usize, len: usize, rows: usize) -> Range<usize> {
        start..(start + len + 1).min(rows)
    }
}
