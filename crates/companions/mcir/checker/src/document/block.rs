//! What a block of a region has while it runs.

use std::collections::{BTreeMap, HashMap};

use megakernel_mcir::{Body, Update};

use super::compute::Tile;

/// A tile on its way, or there.
pub struct Version<N> {
    pub number: i64,
    pub has_landed: bool,
    pub tile: Tile<N>,
}

/// What a block has.
pub struct Block<N> {
    pub axes: HashMap<u32, i64>,
    /// Tiles that are not prefetched, states included.
    pub tiles: HashMap<u32, Tile<N>>,
    /// Tiles that are, by slot.
    pub slots: BTreeMap<u32, Vec<Option<Version<N>>>>,
    pub body: Body,
    /// The axis of the stream, its first value, and its step.
    pub stream: Option<(u32, i64, i64)>,
    pub iteration: i64,
    pub count: i64,
    /// What maxima are taken of, by node: for each number of the state, what it has met.
    pub met: BTreeMap<u32, Vec<Vec<N>>>,
}

/// The slot of a version, if anything is in it.
pub fn slot<N>(block: &mut Block<N>, tile: u32, version: i64) -> Option<&mut Version<N>> {
    let slots = block.slots.get_mut(&tile)?;
    let place = usize::try_from(version).ok()? % slots.len().max(1);
    slots.get_mut(place)?.as_mut()
}

/// What each number of a state is compared with, if the update takes a maximum.
pub fn met<N: Copy>(update: Update, ins: &[&Tile<N>]) -> Option<Vec<Vec<N>>> {
    let (x, wide) = match (update, ins) {
        (Update::Max, [_, x]) => (x, 1),
        (Update::OnlineSoftmax, [x, ..]) => (x, *x.shape.as_ref()?.last()?),
        _ => return None,
    };
    Some(x.numbers.chunks(wide.max(1)).map(<[N]>::to_vec).collect())
}
