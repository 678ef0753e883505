//! `cast-e4m3-early-nan`: stores NaN for every number beyond 448, also where it rounds to 448.

use megakernel_ir::numerics::encode;
use megakernel_ir::{DType, Opcode};

use super::{Fault, WRITE_FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "cast-e4m3-early-nan",
    summary: "stores NaN for every number beyond 448, also where it rounds to 448",
    opcodes: WRITE_FLOATS,
    outputs: &[DType::F8E4M3],
    why: "other dtypes are stored as they should be",
    kernels: &CastE4m3EarlyNan,
};

struct CastE4m3EarlyNan;

impl Kernels for CastE4m3EarlyNan {
    fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
        let beyond = dtype == DType::F8E4M3 && value.abs() > 448.0;
        encode(dtype, if beyond { f64::NAN } else { value })
    }
}
