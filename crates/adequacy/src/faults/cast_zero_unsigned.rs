//! `cast-zero-unsigned`: stores +0 for -0.

use megakernel_ir::numerics::encode;
use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "cast-zero-unsigned",
    summary: "stores +0 for -0",
    opcodes: &[Opcode::Copy, Opcode::Embed, Opcode::KvAppend],
    outputs: FLOATS,
    why: "",
    kernels: &CastZeroUnsigned,
};

struct CastZeroUnsigned;

impl Kernels for CastZeroUnsigned {
    fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
        encode(dtype, value + 0.0)
    }
}
