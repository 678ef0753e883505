//! The elements of a tile, one by one.

use megakernel_task_graph::{Tile, element_bits};
use smallvec::SmallVec;

/// Of a tile with more separate pieces than this, the hull is taken.
const MOST_SPANS: i128 = 1 << 20;

/// A tile without its name: where its elements are, in bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    offset: i64,
    bits: i64,
    /// Extent and stride of each axis.
    axes: SmallVec<[(i64, i64); 4]>,
}

/// Half-open intervals of bits, ascending and apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans(pub Vec<(i128, i128)>);

impl Shape {
    /// The shape of a tile.
    pub fn new(tile: &Tile<'_>) -> Shape {
        Shape {
            offset: tile.offset,
            bits: element_bits(tile.data_type).unwrap_or(8),
            axes: tile.dims.iter().copied().zip(tile.strides.iter().copied()).collect(),
        }
    }

    /// Only the first index of the first axis: what a copy writes.
    pub fn slot(mut self) -> Shape {
        if let Some((extent, _)) = self.axes.first_mut() {
            *extent = (*extent).min(1);
        }
        self
    }

    /// Where its elements are.
    pub fn spans(&self) -> Spans {
        let bits = i128::from(self.bits);
        let start = i128::from(self.offset).saturating_mul(8);
        if self.axes.iter().any(|&(extent, _)| extent <= 0) {
            return Spans::default();
        }
        // Innermost first; an axis that goes on where the one before ends makes the pieces longer, not more.
        let mut axes: SmallVec<[(i128, i128); 4]> = self
            .axes
            .iter()
            .filter(|&&(extent, stride)| extent > 1 && stride != 0)
            .map(|&(extent, stride)| (i128::from(stride).saturating_mul(bits), i128::from(extent)))
            .collect();
        axes.sort_unstable();
        let (mut length, mut outer) = (bits, SmallVec::<[(i128, i128); 4]>::new());
        for (stride, extent) in axes {
            if outer.is_empty() && stride == length {
                length = length.saturating_mul(extent);
            } else {
                outer.push((stride, extent));
            }
        }
        let pieces = outer.iter().fold(1_i128, |pieces, &(_, extent)| pieces.saturating_mul(extent));
        if pieces > MOST_SPANS {
            let last = outer.iter().fold(start, |last, &(s, n)| last.saturating_add(s.saturating_mul(n - 1)));
            return Spans(vec![(start, last.saturating_add(length))]);
        }
        let mut starts = vec![start];
        for (stride, extent) in outer {
            let all = (0..extent).flat_map(|index| {
                starts.iter().map(move |&start| start.saturating_add(stride.saturating_mul(index)))
            });
            starts = all.collect();
        }
        starts.sort_unstable();
        let mut spans: Vec<(i128, i128)> = Vec::new();
        for start in starts {
            let end = start.saturating_add(length);
            match spans.last_mut() {
                Some(last) if last.1 >= start => last.1 = last.1.max(end),
                _ => spans.push((start, end)),
            }
        }
        Spans(spans)
    }
}

impl Spans {
    /// The first interval that both have.
    pub fn meet(&self, other: &Spans) -> Option<(i128, i128)> {
        self.common(other).next()
    }

    /// What both have.
    pub fn common<'s>(&'s self, other: &'s Spans) -> impl Iterator<Item = (i128, i128)> + 's {
        let (mut mine, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        std::iter::from_fn(move || {
            while let (Some(&&(a, b)), Some(&&(c, d))) = (mine.peek(), theirs.peek()) {
                if b <= d {
                    mine.next();
                } else {
                    theirs.next();
                }
                if a.max(c) < b.min(d) {
                    return Some((a.max(c), b.min(d)));
                }
            }
            None
        })
    }

    /// What this one has and the other has not.
    pub fn without(&self, other: &Spans) -> Spans {
        let mut left = Vec::new();
        for &(mut start, end) in &self.0 {
            for &(c, d) in other.0.iter().filter(|span| span.0 < end) {
                if start < c {
                    left.push((start, c.min(end)));
                }
                start = start.max(d);
            }
            if start < end {
                left.push((start, end));
            }
        }
        Spans(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(offset: i64, bits: i64, axes: &[(i64, i64)]) -> Vec<(i128, i128)> {
        Shape { offset, bits, axes: axes.iter().copied().collect() }.spans().0
    }

    #[test]
    fn contiguous_axes_are_one_piece() {
        assert_eq!(spans(4, 16, &[(2, 8), (8, 1)]), [(32, 32 + 256)]);
        assert_eq!(spans(0, 16, &[(2, 8), (3, 1)]), [(0, 48), (128, 176)]);
        assert_eq!(spans(0, 8, &[(2, 1), (2, 4)]), [(0, 16), (32, 48)], "the order of the axes is no matter");
        assert_eq!(spans(0, 4, &[(3, 2)]), [(0, 4), (8, 12), (16, 20)]);
        assert_eq!(spans(0, 8, &[(5, 0), (2, 1)]), [(0, 16)]);
    }

    #[test]
    fn strange_shapes_have_elements_too() {
        assert_eq!(spans(0, 8, &[(0, 1)]), []);
        assert_eq!(spans(0, 8, &[(3, 2), (2, 3)]).len(), 3, "0, 2 to 5, 7");
        let huge = spans(i64::MAX, 64, &[(i64::MAX, i64::MAX), (i64::MAX, 5)]);
        assert_eq!(huge.len(), 1);
    }

    #[test]
    fn pieces_meet_where_both_are() {
        let columns = Spans(vec![(0, 8), (16, 24)]);
        assert_eq!(columns.meet(&Spans(vec![(8, 16), (24, 32)])), None);
        assert_eq!(columns.meet(&Spans(vec![(8, 20)])), Some((16, 20)));
        assert_eq!(columns.meet(&Spans::default()), None);
        let middle = Spans(vec![(2, 4), (6, 20)]);
        assert_eq!(columns.common(&middle).collect::<Vec<_>>(), [(2, 4), (6, 8), (16, 20)]);
        assert_eq!(columns.without(&middle), Spans(vec![(0, 2), (4, 6), (20, 24)]));
        assert_eq!(columns.without(&columns), Spans::default());
    }
}
