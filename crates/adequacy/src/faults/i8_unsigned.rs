//! `i8-unsigned`: reads I8 weights as unsigned.

use super::{Fault, FLOATS, QUANTISED};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "i8-unsigned",
    summary: "reads I8 weights as unsigned",
    opcodes: QUANTISED,
    outputs: FLOATS,
    why: "",
    kernels: &I8Unsigned,
};

struct I8Unsigned;

impl Kernels for I8Unsigned {
    fn i8(&self, stored: i8) -> f32 {
        f32::from(stored as u8)
    }
}
