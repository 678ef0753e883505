//! `rope-angle-fp16`: rounds the angle to binary16.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS, round};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rope-angle-fp16",
    summary: "rounds the angle to binary16",
    opcodes: &[Opcode::Rope],
    outputs: FLOATS,
    why: "",
    kernels: &RopeAngleFp16,
};

struct RopeAngleFp16;

impl Kernels for RopeAngleFp16 {
    fn rope_angle(&self, position: i64, frequency: f64) -> f64 {
        round(DType::F16, Plain.rope_angle(position, frequency))
    }
}
