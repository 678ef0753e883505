//! `k-tile-stale-input`: multiplies the second tile of weights with the first tile of x, as if a copy were not awaited.

use super::{Fault, FLOATS, MATRIX};
use crate::kernels::Kernels;
use crate::parts::{Tile, tiles};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "k-tile-stale-input",
    summary: "multiplies the second tile of weights with the first tile of x, as if a copy were not awaited",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &KTileStaleInput,
};

struct KTileStaleInput;

impl Kernels for KTileStaleInput {
    fn k_tiles(&self, k: usize) -> Vec<Tile> {
        let mut tiles = tiles(k);
        if let [first, second, ..] = tiles.as_mut_slice() {
            second.x = first.x.start..first.x.start + second.w.len();
        }
        tiles
    }
}
