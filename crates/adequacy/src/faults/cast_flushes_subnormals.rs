//! `cast-flushes-subnormals`: stores zero for subnormal numbers.

use megakernel_ir::numerics::encode;
use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS, WRITE_FLOATS, flushed};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "cast-flushes-subnormals",
    summary: "stores zero for subnormal numbers",
    opcodes: WRITE_FLOATS,
    outputs: FLOATS,
    why: "",
    kernels: &CastFlushesSubnormals,
};

struct CastFlushesSubnormals;

impl Kernels for CastFlushesSubnormals {
    fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
        flushed(dtype, encode(dtype, value))
    }
}
