//! `columns-by-four`: writes columns of a tile in whole groups of four only.

use std::ops::Range;

use super::{Fault, FLOATS, MATRIX};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "columns-by-four",
    summary: "writes columns of a tile in whole groups of four only",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &ColumnsByFour,
};

struct ColumnsByFour;

impl Kernels for ColumnsByFour {
    fn columns(&self, n_off: usize, n_tile: usize) -> Range<usize> {
        n_off..n_off + n_tile / 4 * 4
    }
}
