//! `window-starts-late`: attends from the second row of the window.

use std::ops::Range;

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "window-starts-late",
    summary: "attends from the second row of the window",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &WindowStartsLate,
};

struct WindowStartsLate;

impl Kernels for WindowStartsLate {
    fn window(&self, start: usize, len: usize, _: usize) -> Range<usize> {
        start + 1..start + len
    }
}
