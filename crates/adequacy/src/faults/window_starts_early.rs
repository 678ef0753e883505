//! `window-starts-early`: attends to the row before the window as well.

use std::ops::Range;

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "window-starts-early",
    summary: "attends to the row before the window as well",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &WindowStartsEarly,
};

struct WindowStartsEarly;

impl Kernels for WindowStartsEarly {
    fn window(&self, start: usize, len: usize, _: usize) -> Range<usize> {
        start.saturating_sub(1)..start + len
    }
}
