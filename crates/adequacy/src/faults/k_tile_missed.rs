//! `k-tile-missed`: leaves out one tile of 64 columns in the middle of K.

use super::{Fault, FLOATS, MATRIX};
use crate::kernels::Kernels;
use crate::parts::{Tile, tiles};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "k-tile-missed",
    summary: "leaves out one tile of 64 columns in the middle of K",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &KTileMissed,
};

struct KTileMissed;

impl Kernels for KTileMissed {
    fn k_tiles(&self, k: usize) -> Vec<Tile> {
        let mut tiles = tiles(k);
        if tiles.len() > 2 {
            tiles.remove(tiles.len() / 2);
        }
        tiles
    }
}
