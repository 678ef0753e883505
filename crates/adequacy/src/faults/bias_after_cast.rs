//! `bias-after-cast`: rounds the product to the output's dtype before it adds the bias.

use megakernel_ir::DType;

use super::{Fault, MATRIX, NARROW, round};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "bias-after-cast",
    summary: "rounds the product to the output's dtype before it adds the bias",
    opcodes: MATRIX,
    outputs: NARROW,
    why: "a value held in binary32 is an F32 already",
    kernels: &BiasAfterCast,
};

struct BiasAfterCast;

impl Kernels for BiasAfterCast {
    fn with_bias(&self, product: f64, bias: f64, _: usize, output: DType) -> f64 {
        self.add(round(output, product), bias)
    }
}
