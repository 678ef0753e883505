//! Axes, their ranges, and the extents of tiles at an edge (clauses MCI-03 and MCI-09).

use megakernel_mcir::{Index, Region, Sizes};
use smallvec::SmallVec;

use crate::producers::added;

/// Axes, each with its factor: few forms have more than one.
pub type Factors = SmallVec<[(u32, i64); 1]>;

/// An affine form without axes that have one value: axes by their places, and an integer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Affine {
    pub factors: Factors,
    pub number: i64,
}

/// The extent of an axis of a tile: the number, and what is left of the tensor where that may be less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    pub size: i64,
    pub rest: Option<Affine>,
}

/// An axis of a region.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// The number of its name.
    pub name: u32,
    pub step: i64,
    /// The range.
    pub least: i64,
    pub most: i64,
    /// How many values it has, at most.
    pub count: i64,
}

/// What a name has, in a list in the order of the names.
fn found<T: Copy>(list: &[(u32, T)], name: u32) -> Option<T> {
    list.binary_search_by_key(&name, |&(name, _)| name).ok().map(|place| list[place].1)
}

/// The axes of a region, by their places: the stream comes last.
#[derive(Clone, Debug)]
pub struct Axes {
    /// The block axes with more than one value: of these a document that keeps IS11 has 31 at most.
    pub blocks: Vec<Axis>,
    /// The axis of the stream, as the last one.
    pub stream: Option<Axis>,
    /// Whether the bounds of the stream are integers.
    pub is_fixed: bool,
    /// The bounds of the stream.
    pub from: SmallVec<[Affine; 1]>,
    pub to: SmallVec<[Affine; 1]>,
    /// In the order of the names. Before IS11 is judged there may be any number of axes, and of terms that name them.
    places: SmallVec<[(u32, u32); 2]>,
}

impl Axes {
    /// Of a region that breaks none of IS01 to IS03.
    pub fn new(region: &Region) -> Axes {
        let tile = &region.tile;
        let mut steps = Sizes::from_slice(&tile.shape);
        steps.sort_unstable();
        let step = |axis: u32| found(&steps, axis).unwrap_or(1);
        let block = |&(name, extent): &(u32, i64)| {
            let step = step(name);
            let count = (extent - 1) / step + 1;
            Axis { name, step, least: 0, most: (count - 1) * step, count }
        };
        // An axis with one value adds 0 to every index.
        let blocks: Vec<Axis> = tile.blocks.iter().map(block).filter(|axis| axis.count > 1).collect();
        let (from, to) = (SmallVec::new(), SmallVec::new());
        let mut places: SmallVec<[(u32, u32); 2]> =
            (0..).zip(&blocks).map(|(place, axis)| (axis.name, place)).collect();
        places.sort_unstable();
        let mut axes = Axes { blocks, stream: None, is_fixed: true, from, to, places };
        if let Some(stream) = &region.stream {
            axes.from = stream.from.iter().map(|index| axes.affine(index)).collect();
            axes.to = stream.to.iter().map(|index| axes.affine(index)).collect();
            // By what is written: an axis with one value is an axis all the same.
            let is_number = |index: &Index| added(index).0.is_empty();
            let starts_fixed = stream.from.iter().all(is_number);
            axes.is_fixed = starts_fixed && stream.to.iter().all(is_number);
            let first = axes.from.iter().map(|index| axes.bounds(index).0).max().unwrap_or(0);
            let end = axes.to.iter().map(|index| axes.bounds(index).1).min().unwrap_or(0);
            let step = step(stream.axis);
            let count = if end > first { end.saturating_sub(first).saturating_sub(1) / step + 1 } else { 0 };
            let last = if starts_fixed { first + (count - 1) * step } else { end - 1 };
            let own = (stream.axis, axes.stream_place());
            let at = axes.places.partition_point(|place| *place < own);
            axes.places.insert(at, own);
            axes.stream = Some(Axis { name: stream.axis, step, least: first, most: last.max(first), count });
        }
        axes
    }

    /// The axis at a place: the stream comes after the block axes.
    pub fn axis(&self, place: u32) -> Option<&Axis> {
        self.blocks.get(place as usize).or(self.stream.as_ref())
    }

    /// The place of the stream.
    pub fn stream_place(&self) -> u32 {
        u32::try_from(self.blocks.len()).unwrap_or(u32::MAX)
    }

    /// An index without axes that have one value.
    pub fn affine(&self, index: &Index) -> Affine {
        let (mut factors, mut number) = added(index);
        factors.retain_mut(|(name, factor)| {
            let Some(place) = found(&self.places, *name) else { return false };
            let Some(axis) = self.axis(place) else { return false };
            let moves = axis.least != axis.most;
            if !moves {
                number = number.saturating_add(factor.saturating_mul(axis.least));
            }
            *name = place;
            moves
        });
        Affine { factors, number }
    }

    /// The least and the largest value.
    pub fn bounds(&self, affine: &Affine) -> (i64, i64) {
        let (mut least, mut most) = (affine.number, affine.number);
        for &(place, factor) in &affine.factors {
            if let Some(axis) = self.axis(place) {
                let (a, b) = (factor.saturating_mul(axis.least), factor.saturating_mul(axis.most));
                least = least.saturating_add(a.min(b));
                most = most.saturating_add(a.max(b));
            }
        }
        (least, most)
    }

    /// The extent of a tile of this size that begins there, in a tensor of this extent.
    pub fn extent(&self, size: i64, of: i64, index: &Index) -> Extent {
        let at = self.affine(index);
        let least = of.saturating_sub(self.bounds(&at).1);
        if least >= size {
            return Extent { size, rest: None };
        }
        let factors = at.factors.iter().map(|&(place, factor)| (place, -factor)).collect();
        Extent { size, rest: Some(Affine { factors, number: of.saturating_sub(at.number) }) }
    }

    /// How many blocks there are, at most what a number holds.
    pub fn count_blocks(&self) -> i64 {
        self.blocks.iter().fold(1_i64, |count, axis| count.saturating_mul(axis.count))
    }
}
