//! `partial-sums-bf16`: rounds the partial sum to bfloat16 between two tiles of K.

use megakernel_ir::DType;

use super::{Fault, FLOATS, MATRIX, round};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "partial-sums-bf16",
    summary: "rounds the partial sum to bfloat16 between two tiles of K",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &PartialSumsBf16,
};

struct PartialSumsBf16;

impl Kernels for PartialSumsBf16 {
    fn carry(&self, sum: f64) -> f64 {
        round(DType::BF16, sum)
    }
}
