//! `partial-sums-fp16`: rounds the partial sum to binary16 between two tiles of K.

use megakernel_ir::DType;

use super::{Fault, FLOATS, MATRIX, round};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "partial-sums-fp16",
    summary: "rounds the partial sum to binary16 between two tiles of K",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &PartialSumsFp16,
};

struct PartialSumsFp16;

impl Kernels for PartialSumsFp16 {
    fn carry(&self, sum: f64) -> f64 {
        round(DType::F16, sum)
    }
}
