//! `rope-angle-bf16`: rounds the angle to bfloat16.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS, round};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rope-angle-bf16",
    summary: "rounds the angle to bfloat16",
    opcodes: &[Opcode::Rope],
    outputs: FLOATS,
    why: "",
    kernels: &RopeAngleBf16,
};

struct RopeAngleBf16;

impl Kernels for RopeAngleBf16 {
    fn rope_angle(&self, position: i64, frequency: f64) -> f64 {
        round(DType::BF16, Plain.rope_angle(position, frequency))
    }
}
