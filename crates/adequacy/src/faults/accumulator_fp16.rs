//! `accumulator-fp16`: accumulates products in binary16.

use megakernel_ir::DType;

use super::{Fault, FLOATS, TENSOR_CORES, round};
use crate::kernels::{Kernels, Plain};
use crate::parts::Site;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "accumulator-fp16",
    summary: "accumulates products in binary16",
    opcodes: TENSOR_CORES,
    outputs: FLOATS,
    why: "",
    kernels: &AccumulatorFp16,
};

struct AccumulatorFp16;

impl Kernels for AccumulatorFp16 {
    fn dot_onto(&self, site: Site, start: f64, x: &[f32], w: &[f32]) -> f64 {
        if !site.on_tensor_cores() {
            return Plain.dot_onto(site, start, x, w);
        }
        x.iter().zip(w).fold(start, |sum, (&x, &w)| round(DType::F16, f64::from(x) * f64::from(w) + sum))
    }
}
