//! `rms-eps-outside`: adds eps outside the root.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rms-eps-outside",
    summary: "adds eps outside the root",
    opcodes: &[Opcode::RmsNorm],
    outputs: FLOATS,
    why: "",
    kernels: &RmsEpsOutside,
};

struct RmsEpsOutside;

impl Kernels for RmsEpsOutside {
    fn rms_factor(&self, mean_square: f64, eps: f64, _: usize) -> f64 {
        self.div(1.0, self.add(self.root(mean_square), eps))
    }
}
