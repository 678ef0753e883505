//! `nibbles-swapped`: takes the high nibble of a byte first.

use super::{Fault, FLOATS, QUANTISED};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "nibbles-swapped",
    summary: "takes the high nibble of a byte first",
    opcodes: QUANTISED,
    outputs: FLOATS,
    why: "",
    kernels: &NibblesSwapped,
};

struct NibblesSwapped;

impl Kernels for NibblesSwapped {
    fn nibble(&self, byte: u8, column: usize) -> u8 {
        Plain.nibble(byte.rotate_left(4), column)
    }
}
