//! `zero-point-sign`: reads I8 zero points as unsigned and U8 zero points as signed.

use megakernel_ir::DType;

use super::{Fault, FLOATS, QUANTISED};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "zero-point-sign",
    summary: "reads I8 zero points as unsigned and U8 zero points as signed",
    opcodes: QUANTISED,
    outputs: FLOATS,
    why: "",
    kernels: &ZeroPointSign,
};

struct ZeroPointSign;

impl Kernels for ZeroPointSign {
    fn zero(&self, dtype: DType, stored: i64) -> f32 {
        if dtype == DType::I8 { f32::from(stored as u8) } else { f32::from(stored as i8) }
    }
}
