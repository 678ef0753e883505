//! `scales-bf16`: rounds the scales of weights to bfloat16.

use megakernel_ir::DType;

use super::{Fault, FLOATS, QUANTISED, round};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "scales-bf16",
    summary: "rounds the scales of weights to bfloat16",
    opcodes: QUANTISED,
    outputs: FLOATS,
    why: "",
    kernels: &ScalesBf16,
};

struct ScalesBf16;

impl Kernels for ScalesBf16 {
    fn weight(&self, q: f32, zero: Option<f32>, scale: f32) -> f64 {
        Plain.weight(q, zero, round(DType::BF16, f64::from(scale)) as f32)
    }
}
