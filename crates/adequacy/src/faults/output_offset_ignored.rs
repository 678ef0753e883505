//! `output-offset-ignored`: writes the columns from the beginning, whatever `n_off` says.

use std::ops::Range;

use super::{Fault, FLOATS, MATRIX};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "output-offset-ignored",
    summary: "writes the columns from the beginning, whatever `n_off` says",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &OutputOffsetIgnored,
};

struct OutputOffsetIgnored;

impl Kernels for OutputOffsetIgnored {
    fn columns(&self, _: usize, n_tile: usize) -> Range<usize> {
        0..n_tile
    }
}
