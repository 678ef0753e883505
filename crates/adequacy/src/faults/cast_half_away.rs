//! `cast-half-away`: rounds ties away from zero.

use megakernel_ir::numerics::encode;
use megakernel_ir::{DType, Opcode};

use super::{Fault, NARROW, WRITE_FLOATS, tie};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "cast-half-away",
    summary: "rounds ties away from zero",
    opcodes: WRITE_FLOATS,
    outputs: NARROW,
    why: "a value held in binary32 is an F32 already",
    kernels: &CastHalfAway,
};

struct CastHalfAway;

impl Kernels for CastHalfAway {
    fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
        let nearest = encode(dtype, value);
        tie(dtype, nearest, value).map_or(nearest, |other| other.max(nearest))
    }
}
