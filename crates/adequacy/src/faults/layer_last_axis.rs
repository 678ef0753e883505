//! `layer-last-axis`: normalises along the last axis, whatever `hidden` says.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "layer-last-axis",
    summary: "normalises along the last axis, whatever `hidden` says",
    opcodes: &[Opcode::LayerNorm],
    outputs: FLOATS,
    why: "",
    kernels: &LayerLastAxis,
};

struct LayerLastAxis;

impl Kernels for LayerLastAxis {
    fn layer_run(&self, _: usize, last: usize) -> usize {
        last
    }
}
