//! `k-first-dropped`: leaves out the first column of K.

use super::{Fault, FLOATS, MATRIX};
use crate::kernels::Kernels;
use crate::parts::{Tile, tiles};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "k-first-dropped",
    summary: "leaves out the first column of K",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &KFirstDropped,
};

struct KFirstDropped;

impl Kernels for KFirstDropped {
    fn k_tiles(&self, k: usize) -> Vec<Tile> {
        let mut tiles = tiles(k);
        if let Some(first) = tiles.first_mut() {
            first.x.start += 1;
            first.w.start += 1;
        }
        tiles
    }
}
