//! What tiles cover (clause TGR-04): boxes along the strides of a regular storage, bytes of any other.

use megakernel_ir::diagnostic::TileRegion;
use megakernel_task_graph::{Tile, element_bits};
use smallvec::{SmallVec, smallvec};

/// A part of a storage: a half-open interval for each of the layout's strides, or a single one of bytes. No offset is negative, and
/// without a sign every element that a tile can begin with has a number, also those of 4 bits. Intervals that end beyond
/// all numbers end with the last.
pub type Area = SmallVec<[[u64; 2]; 4]>;

/// A tile as an access touches it.
#[derive(Clone, Copy)]
pub struct Footprint<'t, 'a> {
    /// The tile.
    pub tile: &'t Tile<'a>,
    /// Whether only the first slot along axis 0 counts: what an NVSHMEM_COPY writes.
    pub is_slot: bool,
}

impl<'t, 'a> Footprint<'t, 'a> {
    /// Extent and stride of each axis along which there is more than one element.
    pub fn axes(self) -> impl Iterator<Item = (i64, i64)> + 't {
        let Footprint { tile, is_slot } = self;
        let axes = tile.dims.iter().copied().zip(tile.strides.iter().copied()).enumerate();
        axes.filter(move |&(axis, (extent, _))| extent > 1 && !(is_slot && axis == 0)).map(|(_, axis)| axis)
    }

    /// The first element, counted from the start of the tensor; nothing if the tile begins before or within one.
    pub fn first_element(self) -> Option<i128> {
        let bits = i128::from(element_bits(self.tile.data_type)?);
        let offset = i128::from(self.tile.offset) * 8;
        (offset >= 0 && offset % bits == 0).then(|| offset / bits)
    }

    /// How many elements lie between the first and the last, both included.
    pub fn span(self) -> i128 {
        self.axes().fold(1i128, |span, (extent, stride)| {
            span.saturating_add((i128::from(extent) - 1).saturating_mul(i128::from(stride)))
        })
    }

    /// The bytes from the first to the last.
    pub fn bytes(self) -> [u64; 2] {
        let bits = i128::from(element_bits(self.tile.data_type).unwrap_or(8));
        let start = u64::try_from(self.tile.offset).unwrap_or(0);
        let bytes = self.span().saturating_mul(bits).saturating_add(7) / 8;
        [start, start.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX))]
    }
}

/// How the elements of a storage are addressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Every tile is a box along these strides, which ascend and divide each other.
    Regular(SmallVec<[i64; 4]>),
    /// By bytes.
    Irregular,
}

impl Layout {
    /// The layout that these footprints have in common.
    pub fn of<'t, 'a: 't>(footprints: impl Iterator<Item = Footprint<'t, 'a>> + Clone) -> Layout {
        let mut strides: SmallVec<[i64; 4]> = smallvec![1];
        let mut width = None;
        for footprint in footprints.clone() {
            let own = element_bits(footprint.tile.data_type);
            if *width.get_or_insert(own) != own {
                return Layout::Irregular;
            }
            for (_, stride) in footprint.axes() {
                if stride > 0
                    && let Err(place) = strides.binary_search(&stride)
                {
                    strides.insert(place, stride);
                }
            }
        }
        let divides = strides.windows(2).all(|pair| matches!(pair, [a, b] if b % a == 0));
        let regular = divides && footprints.into_iter().all(|footprint| boxed(footprint, &strides).is_some());
        if regular { Layout::Regular(strides) } else { Layout::Irregular }
    }

    /// What a footprint covers.
    pub fn area(&self, footprint: Footprint<'_, '_>) -> Area {
        match self {
            Layout::Regular(strides) => boxed(footprint, strides).unwrap_or_default(),
            Layout::Irregular => smallvec![footprint.bytes()],
        }
    }

    /// An area as a diagnostic shows it, in numbers with a sign.
    pub fn to_witness(&self, area: &Area) -> TileRegion {
        let signed = |interval: &[u64; 2]| interval.map(|at| i64::try_from(at).unwrap_or(i64::MAX));
        match self {
            Layout::Regular(strides) => TileRegion::Box {
                strides: strides.iter().rev().copied().collect(),
                // Behind the strides stand selections.
                r#box: area.iter().take(strides.len()).rev().map(signed).collect(),
            },
            Layout::Irregular => TileRegion::Bytes { bytes: area.first().map(signed).unwrap_or_default() },
        }
    }
}

/// The footprint along these strides, if it is a box there.
fn boxed(footprint: Footprint<'_, '_>, strides: &[i64]) -> Option<Area> {
    let mut rest = u64::try_from(footprint.first_element()?).ok()?;
    let mut area: Area = smallvec![[0, 1]; strides.len()];
    for (interval, &stride) in area.iter_mut().zip(strides).rev() {
        let start = rest / stride.unsigned_abs();
        rest %= stride.unsigned_abs();
        *interval = [start, start.saturating_add(1)];
    }
    let mut used: SmallVec<[i64; 4]> = SmallVec::new();
    for (extent, stride) in footprint.axes().filter(|&(_, stride)| stride > 0) {
        if used.contains(&stride) {
            return None;
        }
        used.push(stride);
        let index = strides.binary_search(&stride).ok()?;
        let interval = area.get_mut(index)?;
        interval[1] = interval[0].saturating_add(extent.unsigned_abs());
        if let Some(next) = strides.get(index + 1)
            && interval[1] > (next / stride).unsigned_abs()
        {
            return None;
        }
    }
    Some(area)
}

/// What two areas of one storage share, if anything.
pub fn intersection(a: &Area, b: &Area) -> Option<Area> {
    let both: Area = a.iter().zip(b).map(|(a, b)| [a[0].max(b[0]), a[1].min(b[1])]).collect();
    both.iter().all(|[low, high]| low < high).then_some(both)
}

/// Whether two areas of one storage share something.
pub fn overlap(a: &Area, b: &Area) -> bool {
    a.iter().zip(b).all(|(a, b)| a[0].max(b[0]) < a[1].min(b[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(offset: i64, dims: &[i64], strides: &[i64]) -> Tile<'static> {
        Tile {
            base_ptr: "x".into(),
            data_type: 941,
            dims: dims.into(),
            offset,
            strides: strides.into(),
            extra: Vec::new(),
        }
    }

    fn layout(tiles: &[Tile<'static>]) -> Layout {
        Layout::of(tiles.iter().map(|tile| Footprint { tile, is_slot: false }))
    }

    #[test]
    fn tiles_of_a_matrix_are_boxes() {
        let tiles = [tile(128, &[8, 64], &[1024, 1]), tile(0, &[1, 1024], &[1024, 1])];
        let layout = layout(&tiles);
        assert_eq!(layout, Layout::Regular(smallvec![1, 1024]));
        let areas = tiles.each_ref().map(|tile| layout.area(Footprint { tile, is_slot: false }));
        assert_eq!(areas[0][..], [[64, 128], [0, 8]]);
        assert_eq!(areas[1][..], [[0, 1024], [0, 1]]);
        assert_eq!(intersection(&areas[0], &areas[1]).unwrap_or_default()[..], [[64, 128], [0, 1]]);
    }

    #[test]
    fn what_wraps_or_does_not_divide_is_irregular() {
        let wide = tile(0, &[2, 1024], &[1024, 1]);
        assert_eq!(layout(&[wide.clone(), tile(2000, &[1, 64], &[1024, 1])]), Layout::Irregular);
        assert_eq!(layout(&[wide.clone(), tile(0, &[2, 700], &[1000, 1])]), Layout::Irregular);
        assert_eq!(layout(&[tile(3, &[8], &[1])]), Layout::Irregular);
        assert_eq!(layout(&[tile(0, &[2, 2], &[8, 8])]), Layout::Irregular);
        let mut other = wide.clone();
        other.data_type = 951;
        assert_eq!(layout(&[wide, other]), Layout::Irregular);
    }

    #[test]
    fn a_slot_is_one_index_of_the_first_axis() {
        let tile = tile(2048, &[2, 1, 64], &[1024, 1024, 1]);
        let slot = Footprint { tile: &tile, is_slot: true };
        let layout = Layout::Regular(smallvec![1, 1024]);
        assert_eq!(layout.area(slot)[..], [[0, 64], [1, 2]]);
        assert_eq!(slot.bytes(), [2048, 2176]);
    }

    #[test]
    fn huge_numbers_stay_numbers() {
        let most = i64::MAX;
        let tile = tile(most - 1, &[most, most, most, most], &[most, most, most, most]);
        let [start, end] = Footprint { tile: &tile, is_slot: false }.bytes();
        assert!(start < end);
        assert_eq!(layout(&[tile]), Layout::Irregular);
    }

    #[test]
    fn tiles_begin_as_far_out_as_offsets_go() {
        for (data_type, first) in [(935, (1 << 63) - 1), (925, u64::MAX - 1), (965, (1 << 60) - 1)] {
            let offset = if data_type == 965 { i64::MAX - 7 } else { i64::MAX };
            let long = Tile { data_type, ..tile(offset, &[4], &[1]) };
            let one = Tile { data_type, ..tile(offset, &[1], &[1]) };
            let layout = layout(&[one.clone(), long.clone()]);
            assert_eq!(layout, Layout::Regular(smallvec![1]), "{data_type}");
            let area = |tile| layout.area(Footprint { tile, is_slot: false });
            assert_eq!(area(&one)[..], [[first, first + 1]]);
            assert_eq!(area(&long)[..], [[first, first.saturating_add(4)]]);
            assert_eq!(Footprint { tile: &one, is_slot: false }.bytes()[0], offset.unsigned_abs());
        }
    }
}
