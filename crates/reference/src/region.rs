//! Regions of a buffer: boxes, one half-open interval per axis (clause EXE-04).

use megakernel_ir::diagnostic;
use megakernel_ir::model::Buffer;
use smallvec::SmallVec;

/// The largest rank of a buffer (clause DAT-09).
pub const MAX_RANK: usize = 4;

/// A box of elements of one buffer. Axes beyond the buffer's rank are `[0, 1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    rank: usize,
    axes: [[i64; 2]; MAX_RANK],
}

impl Region {
    /// Every element of a buffer of this shape, of which at most [`MAX_RANK`] extents count.
    pub fn whole(shape: &[i64]) -> Region {
        let mut axes = [[0, 1]; MAX_RANK];
        for (axis, &extent) in axes.iter_mut().zip(shape) {
            *axis = [0, extent.max(0)];
        }
        Region { rank: shape.len().min(MAX_RANK), axes }
    }

    /// The whole of a buffer.
    pub fn of(buffer: &Buffer<'_>) -> Region {
        Region::whole(&buffer.shape)
    }

    /// The part of this region with indices `start .. start + length` on one axis. What lies outside is cut off;
    /// an axis that the region does not have leaves it as it is.
    pub fn slice(mut self, axis: usize, start: i64, length: i64) -> Region {
        if axis < self.rank {
            let [low, high] = self.axes[axis];
            let start_clipped = start.clamp(low, high);
            self.axes[axis] = [start_clipped, start.saturating_add(length).clamp(start_clipped, high)];
        }
        self
    }

    /// [`Region::slice`] on the last axis.
    pub fn slice_last(self, start: i64, length: i64) -> Region {
        match self.rank.checked_sub(1) {
            Some(last) => self.slice(last, start, length),
            None => self,
        }
    }

    /// One interval per axis, always [`MAX_RANK`] of them.
    pub fn axes(&self) -> &[[i64; 2]; MAX_RANK] {
        &self.axes
    }

    /// Whether it holds no element.
    pub fn is_empty(&self) -> bool {
        self.axes.iter().any(|[low, high]| low >= high)
    }

    /// The elements in both.
    pub fn intersection(&self, other: &Region) -> Region {
        let mut axes = self.axes;
        for (axis, &[low, high]) in axes.iter_mut().zip(&other.axes) {
            *axis = [axis[0].max(low), axis[1].min(high)];
        }
        Region { rank: self.rank.max(other.rank), axes }
    }

    /// The smallest region that holds both.
    pub fn hull(&self, other: &Region) -> Region {
        let mut axes = self.axes;
        for (axis, &[low, high]) in axes.iter_mut().zip(&other.axes) {
            *axis = [axis[0].min(low), axis[1].max(high)];
        }
        Region { rank: self.rank.max(other.rank), axes }
    }

    /// Whether some element is in both.
    pub fn overlaps(&self, other: &Region) -> bool {
        !self.intersection(other).is_empty()
    }

    /// The elements of this region that are not in the other, as disjoint boxes.
    pub fn minus(&self, other: &Region) -> SmallVec<[Region; 2 * MAX_RANK]> {
        let mut parts = SmallVec::new();
        if !self.overlaps(other) {
            if !self.is_empty() {
                parts.push(*self);
            }
            return parts;
        }
        let mut rest = *self;
        for (axis, &[low, high]) in other.axes.iter().enumerate() {
            let [start, end] = rest.axes[axis];
            for (part_start, part_end) in [(start, low.min(end)), (high.max(start), end)] {
                if part_start < part_end {
                    let mut part = rest;
                    part.axes[axis] = [part_start, part_end];
                    parts.push(part);
                }
            }
            rest.axes[axis] = [start.max(low), end.min(high)];
        }
        parts
    }

    /// The form of a diagnostic: one interval per axis of the buffer.
    pub fn to_witness(self) -> diagnostic::Region {
        self.axes[..self.rank].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_cut_to_the_buffer() {
        let whole = Region::whole(&[4, 16]);
        assert_eq!(whole.slice_last(8, 16).to_witness(), [[0, 4], [8, 16]]);
        assert!(whole.slice_last(16, 4).is_empty());
        assert!(whole.slice(0, 9, 1).is_empty());
        assert_eq!(whole.slice(0, i64::MAX, i64::MAX).to_witness()[0], [4, 4]);
        assert_eq!(Region::whole(&[]).slice_last(3, 1), Region::whole(&[]));
    }

    #[test]
    fn differences_are_exact() {
        let whole = Region::whole(&[4, 4]);
        let hole = whole.slice(0, 1, 2).slice(1, 1, 1);
        let parts = whole.minus(&hole);
        let count = |region: &Region| region.axes().iter().map(|[low, high]| high - low).product::<i64>();
        assert_eq!(parts.iter().map(count).sum::<i64>(), 14);
        assert!(parts.iter().all(|part| !part.overlaps(&hole)));
        assert!(whole.minus(&whole).is_empty());
        assert_eq!(hole.minus(&whole.slice(1, 3, 1))[..], [hole]);
    }

    #[test]
    fn boxes_overlap_on_every_axis_or_not_at_all() {
        let whole = Region::whole(&[4, 16]);
        let (left, right) = (whole.slice_last(0, 8), whole.slice_last(8, 8));
        assert!(!left.overlaps(&right));
        assert!(left.overlaps(&whole.slice(0, 1, 1)));
        assert_eq!(left.intersection(&whole.slice(0, 1, 1)).to_witness(), [[1, 2], [0, 8]]);
        assert!(Region::whole(&[]).overlaps(&Region::whole(&[])));
    }
}
