//! `window-ends-early`: does not attend to the last row of the window.

use std::ops::Range;

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "window-ends-early",
    summary: "does not attend to the last row of the window",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &WindowEndsEarly,
};

struct WindowEndsEarly;

impl Kernels for WindowEndsEarly {
    fn window(&self, start: usize, len: usize, _: usize) -> Range<usize> {
        start..start + len - 1
    }
}
