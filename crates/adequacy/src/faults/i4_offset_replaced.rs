//! `i4-offset-replaced`: does not subtract 8 from I4 where there are zero points.

use super::{Fault, FLOATS, QUANTISED};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "i4-offset-replaced",
    summary: "does not subtract 8 from I4 where there are zero points",
    opcodes: QUANTISED,
    outputs: FLOATS,
    why: "",
    kernels: &I4OffsetReplaced,
};

struct I4OffsetReplaced;

impl Kernels for I4OffsetReplaced {
    fn i4(&self, nibble: u8, zeros: bool) -> f32 {
        if zeros { f32::from(nibble) } else { Plain.i4(nibble, zeros) }
    }
}
