//! `k-tile-stale-weight`: multiplies the last tile of x with the weights of the tile before, as if a copy were not awaited.

use super::{Fault, FLOATS, MATRIX};
use crate::kernels::Kernels;
use crate::parts::{Tile, tiles};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "k-tile-stale-weight",
    summary: "multiplies the last tile of x with the weights of the tile before, as if a copy were not awaited",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &KTileStaleWeight,
};

struct KTileStaleWeight;

impl Kernels for KTileStaleWeight {
    fn k_tiles(&self, k: usize) -> Vec<Tile> {
        let mut tiles = tiles(k);
        if let [.., before, last] = tiles.as_mut_slice() {
            last.w = before.w.start..before.w.start + last.x.len();
        }
        tiles
    }
}
