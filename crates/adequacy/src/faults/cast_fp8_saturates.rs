//! `cast-fp8-saturates`: stores the largest finite number where an 8-bit float overflows.

use megakernel_ir::numerics::encode;
use megakernel_ir::{DType, Opcode};

use super::{Fault, WRITE_FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "cast-fp8-saturates",
    summary: "stores the largest finite number where an 8-bit float overflows",
    opcodes: WRITE_FLOATS,
    outputs: &[DType::F8E4M3, DType::F8E5M2],
    why: "other dtypes are stored as they should be",
    kernels: &CastFp8Saturates,
};

struct CastFp8Saturates;

impl Kernels for CastFp8Saturates {
    fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
        let largest = match dtype {
            DType::F8E4M3 => 448.0,
            DType::F8E5M2 => 57344.0,
            _ => return encode(dtype, value),
        };
        encode(dtype, if value.is_nan() { value } else { value.clamp(-largest, largest) })
    }
}
