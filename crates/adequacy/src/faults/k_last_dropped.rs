//! `k-last-dropped`: leaves out the last column of K.

use super::{Fault, FLOATS, MATRIX};
use crate::kernels::Kernels;
use crate::parts::{Tile, tiles};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "k-last-dropped",
    summary: "leaves out the last column of K",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &KLastDropped,
};

struct KLastDropped;

impl Kernels for KLastDropped {
    fn k_tiles(&self, k: usize) -> Vec<Tile> {
        tiles(k.saturating_sub(1))
    }
}
