//! `rms-eps-fixed`: uses 1e-5, whatever `eps` says.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rms-eps-fixed",
    summary: "uses 1e-5, whatever `eps` says",
    opcodes: &[Opcode::RmsNorm],
    outputs: FLOATS,
    why: "",
    kernels: &RmsEpsFixed,
};

struct RmsEpsFixed;

impl Kernels for RmsEpsFixed {
    fn rms_factor(&self, mean_square: f64, _: f64, n: usize) -> f64 {
        Plain.rms_factor(mean_square, f64::from(1e-5f32), n)
    }
}
