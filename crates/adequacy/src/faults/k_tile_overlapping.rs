//! `k-tile-overlapping`: begins every tile of K but the first one column early.

use super::{Fault, FLOATS, MATRIX};
use crate::kernels::Kernels;
use crate::parts::{Tile, tiles};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "k-tile-overlapping",
    summary: "begins every tile of K but the first one column early",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &KTileOverlapping,
};

struct KTileOverlapping;

impl Kernels for KTileOverlapping {
    fn k_tiles(&self, k: usize) -> Vec<Tile> {
        let mut tiles = tiles(k);
        for tile in tiles.iter_mut().skip(1) {
            tile.x.start -= 1;
            tile.w.start -= 1;
        }
        tiles
    }
}
