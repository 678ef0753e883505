//! `rms-cast-before-weight`: rounds the normalised element to the output's dtype before it multiplies by the weight.

use megakernel_ir::{DType, Opcode};

use super::{Fault, NARROW, round};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rms-cast-before-weight",
    summary: "rounds the normalised element to the output's dtype before it multiplies by the weight",
    opcodes: &[Opcode::RmsNorm],
    outputs: NARROW,
    why: "a value held in binary32 is an F32 already",
    kernels: &RmsCastBeforeWeight,
};

struct RmsCastBeforeWeight;

impl Kernels for RmsCastBeforeWeight {
    fn rms_element(&self, x: f64, factor: f64, w: f64, output: DType) -> f64 {
        self.mul(round(output, self.mul(x, factor)), w)
    }
}
