//! `rms-squares-fp16`: accumulates the squares in binary16.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS, round};
use crate::kernels::Kernels;
use crate::parts::Site;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "rms-squares-fp16",
    summary: "accumulates the squares in binary16",
    opcodes: &[Opcode::RmsNorm],
    outputs: FLOATS,
    why: "",
    kernels: &RmsSquaresFp16,
};

struct RmsSquaresFp16;

impl Kernels for RmsSquaresFp16 {
    fn dot_onto(&self, _: Site, start: f64, x: &[f32], w: &[f32]) -> f64 {
        x.iter().zip(w).fold(start, |sum, (&x, &w)| round(DType::F16, f64::from(x) * f64::from(w) + sum))
    }
}
