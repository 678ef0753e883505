//! `cast-truncates`: cuts off the digits that do not fit.

use megakernel_ir::numerics::{decode, encode};
use megakernel_ir::{DType, Opcode};

use super::{Fault, NARROW, WRITE_FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "cast-truncates",
    summary: "cuts off the digits that do not fit",
    opcodes: WRITE_FLOATS,
    outputs: NARROW,
    why: "a value held in binary32 is an F32 already",
    kernels: &CastTruncates,
};

struct CastTruncates;

impl Kernels for CastTruncates {
    fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
        let nearest = encode(dtype, value);
        let stored = decode(dtype, nearest);
        let too_far = stored.abs() > value.abs() || value.is_finite() && !stored.is_finite();
        if too_far { nearest - 1 } else { nearest }
    }
}
