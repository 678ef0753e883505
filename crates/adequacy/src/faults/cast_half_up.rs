//! `cast-half-up`: rounds ties towards plus infinity.

use megakernel_ir::numerics::encode;
use megakernel_ir::{DType, Opcode};

use super::{Fault, NARROW, WRITE_FLOATS, tie};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "cast-half-up",
    summary: "rounds ties towards plus infinity",
    opcodes: WRITE_FLOATS,
    outputs: NARROW,
    why: "a value held in binary32 is an F32 already",
    kernels: &CastHalfUp,
};

struct CastHalfUp;

impl Kernels for CastHalfUp {
    fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
        let nearest = encode(dtype, value);
        match tie(dtype, nearest, value) {
            // Bits grow with the magnitude.
            Some(other) if (other > nearest) == (value > 0.0) => other,
            _ => nearest,
        }
    }
}
