//! `cast-fp8-twice`: rounds to binary16 on the way to an 8-bit float.

use megakernel_ir::numerics::encode;
use megakernel_ir::{DType, Opcode};

use super::{Fault, WRITE_FLOATS, round};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "cast-fp8-twice",
    summary: "rounds to binary16 on the way to an 8-bit float",
    opcodes: WRITE_FLOATS,
    outputs: &[DType::F8E4M3, DType::F8E5M2],
    why: "other dtypes are stored as they should be",
    kernels: &CastFp8Twice,
};

struct CastFp8Twice;

impl Kernels for CastFp8Twice {
    fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
        let narrow = matches!(dtype, DType::F8E4M3 | DType::F8E5M2);
        encode(dtype, if narrow { round(DType::F16, value) } else { value })
    }
}
