//! `weights-bf16`: rounds dequantised weights to bfloat16 before the product.

use megakernel_ir::DType;

use super::{Fault, FLOATS, MATRIX, round};
use crate::kernels::Kernels;
use crate::parts::{QuantisedRow, Tile};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "weights-bf16",
    summary: "rounds dequantised weights to bfloat16 before the product",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &WeightsBf16,
};

struct WeightsBf16;

impl Kernels for WeightsBf16 {
    fn quantised_product(&self, tiles: &[Tile], x: &[f32], weights: &[f32], _: &QuantisedRow<'_>) -> f64 {
        let weights: Vec<f32> =
            weights.iter().map(|&weight| round(DType::BF16, f64::from(weight)) as f32).collect();
        self.product(tiles, x, &weights)
    }
}
