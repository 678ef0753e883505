//! `accumulator-bf16`: accumulates products in bfloat16.

use megakernel_ir::DType;

use super::{Fault, FLOATS, TENSOR_CORES, round};
use crate::kernels::{Kernels, Plain};
use crate::parts::Site;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "accumulator-bf16",
    summary: "accumulates products in bfloat16",
    opcodes: TENSOR_CORES,
    outputs: FLOATS,
    why: "",
    kernels: &AccumulatorBf16,
};

struct AccumulatorBf16;

impl Kernels for AccumulatorBf16 {
    fn dot_onto(&self, site: Site, start: f64, x: &[f32], w: &[f32]) -> f64 {
        if !site.on_tensor_cores() {
            return Plain.dot_onto(site, start, x, w);
        }
        x.iter().zip(w).fold(start, |sum, (&x, &w)| round(DType::BF16, f64::from(x) * f64::from(w) + sum))
    }
}
