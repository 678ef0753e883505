//! `k-tile-repeated`: counts one tile of 64 columns in the middle of K twice.

use super::{Fault, FLOATS, MATRIX};
use crate::kernels::Kernels;
use crate::parts::{Tile, tiles};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "k-tile-repeated",
    summary: "counts one tile of 64 columns in the middle of K twice",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &KTileRepeated,
};

struct KTileRepeated;

impl Kernels for KTileRepeated {
    fn k_tiles(&self, k: usize) -> Vec<Tile> {
        let mut tiles = tiles(k);
        let middle = tiles.len() / 2;
        if let Some(tile) = tiles.get(middle).filter(|_| middle > 0).cloned() {
            tiles.push(tile);
        }
        tiles
    }
}
