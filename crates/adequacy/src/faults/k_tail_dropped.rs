//! `k-tail-dropped`: goes over whole tiles of 64 columns of K only.

use super::{Fault, FLOATS, MATRIX};
use crate::kernels::Kernels;
use crate::parts::{TILE, Tile, tiles};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "k-tail-dropped",
    summary: "goes over whole tiles of 64 columns of K only",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &KTailDropped,
};

struct KTailDropped;

impl Kernels for KTailDropped {
    fn k_tiles(&self, k: usize) -> Vec<Tile> {
        tiles(k / TILE * TILE)
    }
}
