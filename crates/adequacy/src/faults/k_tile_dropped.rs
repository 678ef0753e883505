//! `k-tile-dropped`: leaves out the last tile of 64 columns of K, where there are several.

use super::{Fault, FLOATS, MATRIX};
use crate::kernels::Kernels;
use crate::parts::{Tile, tiles};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "k-tile-dropped",
    summary: "leaves out the last tile of 64 columns of K, where there are several",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &KTileDropped,
};

struct KTileDropped;

impl Kernels for KTileDropped {
    fn k_tiles(&self, k: usize) -> Vec<Tile> {
        let mut tiles = tiles(k);
        if tiles.len() > 1 {
            tiles.pop();
        }
        tiles
    }
}
