//! `cast-nan-swallowed`: stores zero for NaN.

use megakernel_ir::numerics::encode;
use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS, WRITE_FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "cast-nan-swallowed",
    summary: "stores zero for NaN",
    opcodes: WRITE_FLOATS,
    outputs: FLOATS,
    why: "",
    kernels: &CastNanSwallowed,
};

struct CastNanSwallowed;

impl Kernels for CastNanSwallowed {
    fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
        encode(dtype, if value.is_nan() { 0.0 } else { value })
    }
}
