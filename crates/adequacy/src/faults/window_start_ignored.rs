//! `window-start-ignored`: attends from row 0, whatever `kv_start` says.

use std::ops::Range;

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "window-start-ignored",
    summary: "attends from row 0, whatever `kv_start` says",
    opcodes: &[Opcode::AttentionTile],
    outputs: FLOATS,
    why: "",
    kernels: &WindowStartIgnored,
};

struct WindowStartIgnored;

impl Kernels for WindowStartIgnored {
    fn window(&self, _: usize, len: usize, _: usize) -> Range<usize> {
        0..len
    }
}
