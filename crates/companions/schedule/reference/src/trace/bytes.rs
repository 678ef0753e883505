//! Sets of bytes.

use std::collections::BTreeMap;

/// Bytes of several memories, as intervals without gaps between them.
#[derive(Debug)]
pub struct Bytes<Memory>(BTreeMap<(Memory, u64), u64>);

impl<Memory> Default for Bytes<Memory> {
    fn default() -> Bytes<Memory> {
        Bytes(BTreeMap::new())
    }
}

impl<Memory: Copy + Ord> Bytes<Memory> {
    /// Adds an interval of a memory.
    pub fn add(&mut self, memory: Memory, [mut low, mut high]: [u64; 2]) {
        // What touches it from the left, and all that begins within it, becomes one with it.
        while let Some((&(_, begin), &end)) =
            self.0.range((memory, 0)..=(memory, high)).next_back().filter(|&(_, &end)| end >= low)
        {
            self.0.remove(&(memory, begin));
            (low, high) = (low.min(begin), high.max(end));
        }
        self.0.insert((memory, low), high);
    }

    /// A byte of the interval that is in the set.
    pub fn common(&self, memory: Memory, [low, high]: [u64; 2]) -> Option<u64> {
        let (&(_, begin), &end) = self.0.range((memory, 0)..(memory, high)).next_back()?;
        (end > low).then_some(begin.max(low))
    }

    /// A byte of the interval that is not in the set: the first one.
    pub fn missing(&self, memory: Memory, [low, high]: [u64; 2]) -> Option<u64> {
        let before = self.0.range((memory, 0)..=(memory, low)).next_back();
        let first = before.map_or(low, |(_, &end)| end.max(low));
        (first < high).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_a_set_of_single_bytes() {
        let mut bytes = Bytes::default();
        let mut single = [[false; 12]; 2];
        for (memory, low, high) in
            [(0, 2, 4), (1, 0, 1), (0, 6, 8), (0, 4, 6), (0, 10, 11), (0, 3, 11), (1, 5, 9), (0, 0, 1)]
        {
            bytes.add(memory, [low, high]);
            single[memory][low as usize..high as usize].fill(true);
            for (memory, single) in single.iter().enumerate() {
                for low in 0..12u64 {
                    for high in low + 1..=12 {
                        let part = &single[low as usize..high as usize];
                        let missing = part.iter().position(|is_in| !is_in).map(|place| low + place as u64);
                        assert_eq!(bytes.missing(memory, [low, high]), missing);
                        assert_eq!(bytes.common(memory, [low, high]).is_some(), part.contains(&true));
                    }
                }
            }
        }
    }
}
