//! `rope-table-bf16`: rounds sines and cosines to bfloat16.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS, round};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rope-table-bf16",
    summary: "rounds sines and cosines to bfloat16",
    opcodes: &[Opcode::Rope],
    outputs: FLOATS,
    why: "",
    kernels: &RopeTableBf16,
};

struct RopeTableBf16;

impl Kernels for RopeTableBf16 {
    fn sin_cos(&self, angle: f64) -> (f64, f64) {
        let (sin, cos) = Plain.sin_cos(angle);
        (round(DType::BF16, sin), round(DType::BF16, cos))
    }
}
