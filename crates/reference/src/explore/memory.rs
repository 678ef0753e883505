//! Bytes of a page, as sorted intervals.

use megakernel_ir::model::Program;

use super::footprint::{Access, runs};
use super::storage::{Storage, bytes, storage};

/// A set of bytes of one page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bytes(Vec<(u64, u64)>);

/// The bytes that an access touches; nothing for a buffer that has no page.
pub(super) fn byte_set(program: &Program<'_>, access: &Access) -> Option<Bytes> {
    if !matches!(storage(program, access.buffer), Storage::Page(..)) {
        return None;
    }
    let buffer = &program[access.buffer];
    let mut set = Bytes::default();
    runs(buffer, &access.region, |first, count| {
        let (low, high) = bytes(buffer.dtype.bits(), first, count);
        match set.0.last_mut() {
            Some(last) if last.1 >= low => last.1 = last.1.max(high),
            _ => set.0.push((low, high)),
        }
    });
    Some(set)
}

impl Bytes {
    /// The byte behind the last.
    pub fn end(&self) -> u64 {
        self.0.last().map_or(0, |&(_, high)| high)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both have a byte in common.
    pub fn meets(&self, other: &Bytes) -> bool {
        !self.intersection(other).is_empty()
    }

    /// The bytes of both.
    pub fn intersection(&self, other: &Bytes) -> Bytes {
        let (mut i, mut j) = (0, 0);
        let mut shared = Vec::new();
        while let (Some(&(a_low, a_high)), Some(&(b_low, b_high))) = (self.0.get(i), other.0.get(j)) {
            let (low, high) = (a_low.max(b_low), a_high.min(b_high));
            if low < high {
                shared.push((low, high));
            }
            if a_high <= b_high { i += 1 } else { j += 1 }
        }
        Bytes(shared)
    }

    /// The bytes of this set that are not in the other.
    pub fn minus(&self, other: &Bytes) -> Bytes {
        let mut left = Vec::new();
        for &(mut low, high) in &self.0 {
            for &(cut_low, cut_high) in &other.0 {
                if cut_high > low && cut_low < high {
                    if low < cut_low {
                        left.push((low, cut_low));
                    }
                    low = low.max(cut_high);
                }
            }
            if low < high {
                left.push((low, high));
            }
        }
        Bytes(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_bytes_are_cut_and_joined() {
        let (a, b) = (Bytes(vec![(0, 4), (8, 16)]), Bytes(vec![(2, 10), (12, 13)]));
        assert_eq!(a.intersection(&b), Bytes(vec![(2, 4), (8, 10), (12, 13)]));
        assert_eq!(a.minus(&b), Bytes(vec![(0, 2), (10, 12), (13, 16)]));
        assert!(a.meets(&b) && !a.meets(&Bytes(vec![(4, 8)])));
        assert!(a.minus(&a).is_empty());
        assert_eq!(a.end(), 16);
    }
}
