//! Where allocations of a kernel lie in the shared memory of a block.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_mcir::kernel::Instruction;

/// The bytes at which each begins is a multiple of this.
const ALIGNED: i64 = 16;

/// Which allocations may be taken at the same time, by number: a bit for each other one.
struct Together<'b> {
    numbers: &'b BTreeMap<u32, usize>,
    bits: Vec<Vec<u64>>,
}

impl Together<'_> {
    fn has(&self, one: usize, other: usize) -> bool {
        self.bits[one][other / 64] >> (other % 64) & 1 == 1
    }

    fn add(&mut self, one: usize, other: usize) {
        self.bits[one][other / 64] |= 1 << (other % 64);
        self.bits[other][one / 64] |= 1 << (one % 64);
    }

    /// Goes through a body: what may be taken before it, and then after it.
    fn body(&mut self, body: &[Instruction], taken: &mut BTreeSet<usize>) {
        for instruction in body {
            match instruction {
                Instruction::Alloc(name) => {
                    let Some(&number) = self.numbers.get(name) else { continue };
                    taken.iter().filter(|&&other| other != number).for_each(|&other| self.add(number, other));
                    taken.insert(number);
                }
                Instruction::Free(name) => {
                    if let Some(number) = self.numbers.get(name) {
                        taken.remove(number);
                    }
                }
                Instruction::If(_, body) => {
                    let mut inside = taken.clone();
                    self.body(body, &mut inside);
                    taken.append(&mut inside);
                }
                // What an iteration leaves taken, the next one finds.
                Instruction::Loop(each) => {
                    self.left(&each.body, taken);
                    let mut inside = taken.clone();
                    self.body(&each.body, &mut inside);
                }
                _ => {}
            }
        }
    }

    /// Adds what a body takes and may not give back.
    fn left(&self, body: &[Instruction], left: &mut BTreeSet<usize>) {
        let mut own = BTreeSet::new();
        for instruction in body {
            match instruction {
                Instruction::Alloc(name) => own.extend(self.numbers.get(name)),
                Instruction::Free(name) => {
                    if let Some(number) = self.numbers.get(name) {
                        own.remove(number);
                    }
                }
                Instruction::If(_, body) => self.left(body, &mut own),
                Instruction::Loop(each) => self.left(&each.body, &mut own),
                _ => {}
            }
        }
        left.append(&mut own);
    }
}

/// Where each allocation begins, and where the last one ends: those that may be taken at the same time lie apart.
pub fn places(body: &[Instruction], bytes: &BTreeMap<u32, i64>) -> (BTreeMap<u32, i64>, i64) {
    let numbers = bytes.keys().enumerate().map(|(number, &name)| (name, number)).collect();
    let bits = vec![vec![0; bytes.len().div_ceil(64)]; bytes.len()];
    let mut together = Together { numbers: &numbers, bits };
    together.body(body, &mut BTreeSet::new());
    let mut placed: Vec<(i64, i64)> = Vec::with_capacity(bytes.len());
    for (number, &size) in bytes.values().enumerate() {
        let mut others: Vec<(i64, i64)> =
            (0..number).filter(|&other| together.has(number, other)).map(|other| placed[other]).collect();
        others.sort_unstable();
        let mut place = 0_i64;
        for (begin, end) in others {
            if place.saturating_add(size) <= begin {
                break;
            }
            place = place.max(aligned(end));
        }
        placed.push((place, place.saturating_add(size)));
    }
    let end = placed.iter().map(|&(_, end)| end).max().unwrap_or(0);
    (bytes.keys().copied().zip(placed.into_iter().map(|(begin, _)| begin)).collect(), end)
}

/// The next place at which something can begin.
pub fn aligned(place: i64) -> i64 {
    place.saturating_add(ALIGNED - 1) / ALIGNED * ALIGNED
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alloc(name: u32) -> Instruction {
        Instruction::Alloc(name)
    }

    fn free(name: u32) -> Instruction {
        Instruction::Free(name)
    }

    fn bytes(all: &[(u32, i64)]) -> BTreeMap<u32, i64> {
        all.iter().copied().collect()
    }

    #[test]
    fn what_is_given_back_is_used_again() {
        let body = [alloc(0), free(0), alloc(1), alloc(2), free(1), free(2)];
        let (places, end) = places(&body, &bytes(&[(0, 100), (1, 40), (2, 8)]));
        assert_eq!(places, bytes(&[(0, 0), (1, 0), (2, 48)]));
        assert_eq!(end, 100);
    }

    #[test]
    fn what_an_iteration_leaves_is_there_in_the_next_one() {
        // 1 is taken in an iteration while 0 is, which the one before has taken.
        let each = megakernel_mcir::kernel::Loop {
            axis: 9,
            number: None,
            from: Default::default(),
            to: Default::default(),
            step: 1,
            body: vec![alloc(1), free(1), alloc(0)],
        };
        let (places, end) = places(&[Instruction::Loop(each)], &bytes(&[(0, 4), (1, 4)]));
        assert_eq!(places, bytes(&[(0, 0), (1, 16)]));
        assert_eq!(end, 20);
        let (places, _) = super::places(
            &[Instruction::If(Vec::new(), vec![alloc(0)]), alloc(1)],
            &bytes(&[(0, 4), (1, 4)]),
        );
        assert_eq!(places, bytes(&[(0, 0), (1, 16)]));
    }
}
