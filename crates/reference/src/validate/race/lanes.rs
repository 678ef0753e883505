//! Which of a few hundred boxes overlap a given one, as bits.

use megakernel_order::happens_before::{Bits, LANES};

use crate::region::{MAX_RANK, Region};

/// Some boxes of one buffer, at most [`LANES`], each with a bit.
pub struct Lanes {
    all: Bits,
    /// Of each axis on which accesses of the buffer differ.
    axes: Vec<Axis>,
}

struct Axis {
    axis: usize,
    /// Where boxes begin, in order, and before each of them and at the end: those that begin further to the left.
    starts: Vec<i64>,
    begun: Vec<Bits>,
    /// Where boxes end, in order, and before each of them and at the end: those that end there or further to the right.
    ends: Vec<i64>,
    unended: Vec<Bits>,
}

impl Lanes {
    /// Boxes with the bits from `base` on. `cut` says on which axes any two accesses of the buffer differ.
    pub fn new(boxes: &[Region], base: usize, cut: [bool; MAX_RANK]) -> Lanes {
        let mut all = Bits::default();
        (base..base + boxes.len()).for_each(|lane| set(&mut all, lane));
        let axes = (0..MAX_RANK).filter(|&axis| cut[axis]).map(|axis| Axis::new(boxes, base, axis)).collect();
        Lanes { all, axes }
    }

    /// Those that have an element in common with this one.
    pub fn overlapping(&self, region: &Region) -> Bits {
        let mut bits = self.all;
        for Axis { axis, starts, begun, ends, unended } in &self.axes {
            let [low, high] = region.axes()[*axis];
            let begun = &begun[starts.partition_point(|&start| start < high)];
            let unended = &unended[ends.partition_point(|&end| end <= low)];
            for (bits, (begun, unended)) in bits.iter_mut().zip(begun.iter().zip(unended)) {
                *bits &= begun & unended;
            }
        }
        bits
    }
}

impl Axis {
    fn new(boxes: &[Region], base: usize, axis: usize) -> Axis {
        let mut starts: Vec<(i64, usize)> = Vec::with_capacity(boxes.len());
        let mut ends = starts.clone();
        for (index, one) in boxes.iter().enumerate() {
            let [low, high] = one.axes()[axis];
            starts.push((low, base + index));
            ends.push((high, base + index));
        }
        starts.sort_unstable();
        ends.sort_unstable();
        let mut begun = vec![Bits::default(); boxes.len() + 1];
        let mut unended = begun.clone();
        for (at, &(_, lane)) in starts.iter().enumerate() {
            begun[at + 1] = begun[at];
            set(&mut begun[at + 1], lane);
        }
        for (at, &(_, lane)) in ends.iter().enumerate().rev() {
            unended[at] = unended[at + 1];
            set(&mut unended[at], lane);
        }
        let place = |list: Vec<(i64, usize)>| list.into_iter().map(|(at, _)| at).collect();
        Axis { axis, starts: place(starts), begun, ends: place(ends), unended }
    }
}

/// Sets a bit.
pub fn set(bits: &mut Bits, lane: usize) {
    if lane < LANES {
        bits[lane / 64] |= 1 << (lane % 64);
    }
}

/// Takes a bit out.
pub fn clear(bits: &mut Bits, lane: usize) {
    if lane < LANES {
        bits[lane / 64] &= !(1 << (lane % 64));
    }
}

/// This bit and all after it.
pub fn from(lane: usize) -> Bits {
    let mut bits = [u64::MAX; LANES / 64];
    let word = (lane / 64).min(bits.len());
    bits[..word].fill(0);
    if let Some(bits) = bits.get_mut(word) {
        *bits <<= lane % 64;
    }
    bits
}

/// Whether none is.
pub fn is_empty(bits: &Bits) -> bool {
    *bits == Bits::default()
}

/// The bits of both.
pub fn both(mut bits: Bits, other: &Bits) -> Bits {
    bits.iter_mut().zip(other).for_each(|(bits, other)| *bits &= other);
    bits
}

/// The bits of one and not of the other.
pub fn without(mut bits: Bits, other: &Bits) -> Bits {
    bits.iter_mut().zip(other).for_each(|(bits, other)| *bits &= !other);
    bits
}

/// Adds the bits of another set.
pub fn add(bits: &mut Bits, other: &Bits) {
    bits.iter_mut().zip(other).for_each(|(bits, other)| *bits |= other);
}

/// The bits that are set, in order.
pub fn each(bits: Bits) -> impl Iterator<Item = usize> {
    bits.into_iter().enumerate().flat_map(|(word, mut rest)| {
        std::iter::from_fn(move || {
            let bit = rest.trailing_zeros() as usize;
            rest &= rest.wrapping_sub(1);
            (bit < 64).then_some(word * 64 + bit)
        })
    })
}

/// The last bit that is set.
pub fn last(bits: &Bits) -> Option<usize> {
    let word = bits.iter().rposition(|&word| word != 0)?;
    Some(word * 64 + 63 - bits[word].leading_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_the_boxes_that_overlap() {
        let whole = Region::whole(&[12, 12]);
        let mut boxes = Vec::new();
        for index in 0..130i64 {
            let (row, column) = (index * 7 % 11, index * 5 % 12);
            boxes.push(whole.slice(0, row, 1 + index % 3).slice(1, column, 1 + index % 5));
        }
        for base in [0, 70] {
            let lanes = Lanes::new(&boxes, base, [true, true, false, false]);
            for one in &boxes {
                let expected: Vec<usize> =
                    (0..boxes.len()).filter(|&i| boxes[i].overlaps(one)).map(|i| base + i).collect();
                assert_eq!(last(&lanes.overlapping(one)), expected.last().copied());
                assert_eq!(each(lanes.overlapping(one)).collect::<Vec<_>>(), expected);
            }
        }
    }
}
