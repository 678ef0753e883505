//! `i4-offset-missing`: does not subtract 8 from symmetric I4.

use super::{Fault, FLOATS, QUANTISED};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "i4-offset-missing",
    summary: "does not subtract 8 from symmetric I4",
    opcodes: QUANTISED,
    outputs: FLOATS,
    why: "",
    kernels: &I4OffsetMissing,
};

struct I4OffsetMissing;

impl Kernels for I4OffsetMissing {
    fn i4(&self, nibble: u8, zeros: bool) -> f32 {
        if zeros { Plain.i4(nibble, zeros) } else { f32::from(nibble) }
    }
}
