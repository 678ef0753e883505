//! `cast-fp16-saturates`: stores the largest finite number where F16 overflows.

use megakernel_ir::numerics::encode;
use megakernel_ir::{DType, Opcode};

use super::{Fault, WRITE_FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "cast-fp16-saturates",
    summary: "stores the largest finite number where F16 overflows",
    opcodes: WRITE_FLOATS,
    outputs: &[DType::F16],
    why: "other dtypes are stored as they should be",
    kernels: &CastFp16Saturates,
};

struct CastFp16Saturates;

impl Kernels for CastFp16Saturates {
    fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
        let finite = dtype == DType::F16 && value.is_finite();
        encode(dtype, if finite { value.clamp(-65504.0, 65504.0) } else { value })
    }
}
