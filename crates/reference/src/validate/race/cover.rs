//! Which elements of a box other boxes cover, and which of them comes first: without looking at single elements.
//!
//! A line sweeps over one axis, and a tree over the intervals of a second one knows, of each interval, the first of the
//! boxes that the line meets there. So the time is n log² n for n boxes, however they lie.
//!
//! Two axes are enough: the accesses of a buffer are cut on at most two, and its reads on at most one of them. A vector has one axis, and
//! a tile of a matrix is cut on its rows and columns. In rank 3 and 4 a product cuts the last axis of what it writes, and a window of a
//! cache the axis of positions, the first of rank 3 and the second of rank 4, of what it reads and writes. Of a matrix tasks read rows.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::region::{MAX_RANK, Region};

/// Up to this many boxes are subtracted one by one: the parts that are left are then fewer than the cuts.
const FEW: usize = 16;

/// Some elements of a region that none of these boxes covers.
pub fn uncovered(region: &Region, boxes: impl Iterator<Item = Region>) -> Option<Region> {
    let boxes = clipped(region, boxes.map(|one| (one, 0)));
    if boxes.len() <= FEW {
        let mut rest = vec![*region];
        for (one, _) in &boxes {
            rest = rest.iter().flat_map(|part| part.minus(one)).collect();
        }
        return rest.first().copied();
    }
    hole(region, &boxes)
}

/// [`uncovered`] for many boxes within the region, all different, so that they are cut on some axis.
fn hole(region: &Region, boxes: &[Timed]) -> Option<Region> {
    let cut = cut_axes(region, boxes.iter().map(|(one, _)| one));
    match cut[..] {
        [axis] => gap(region, boxes.iter(), axis),
        _ => {
            let [first, second] = two_axes(&cut);
            let sweep = Sweep::new(region, boxes, [first, second]);
            let index = sweep.slices.iter().position(|slice| !slice.is_complete)?;
            let (slice, within) = sweep.slice(region, boxes, index);
            gap(&slice, within.iter(), second)
        }
    }
}

/// The first elements along the only axis on which the boxes are cut that none of them covers.
fn gap<'b>(region: &Region, boxes: impl Iterator<Item = &'b Timed>, axis: usize) -> Option<Region> {
    let mut intervals: Vec<[i64; 2]> = boxes.map(|(one, _)| one.axes()[axis]).collect();
    intervals.sort_unstable();
    let [mut covered, end] = region.axes()[axis];
    for [low, high] in intervals {
        if low > covered {
            return Some(region.slice(axis, covered, low - covered));
        }
        covered = covered.max(high);
    }
    (covered < end).then(|| region.slice(axis, covered, end - covered))
}

/// When the elements of a box are first covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    /// Of the elements that are covered, the one that is covered last: by which box.
    pub latest: Option<usize>,
    /// Whether all elements are covered.
    pub is_complete: bool,
}

impl First {
    const NOTHING: First = First { latest: None, is_complete: true };

    fn and(self, other: First) -> First {
        First { latest: self.latest.max(other.latest), is_complete: self.is_complete && other.is_complete }
    }
}

/// For each region, when its elements are first covered by these boxes, of which earlier ones come first. The regions are cut on one axis
/// at most.
pub fn firsts(boxes: &[Region], regions: &[Region]) -> Vec<First> {
    let Some(bounds) = bounds(boxes.iter().chain(regions)) else { return Vec::new() };
    let boxes = clipped(&bounds, boxes.iter().copied().enumerate().map(|(time, one)| (one, time)));
    let [along, across] = axes_for_all(&bounds, &boxes, regions.iter());
    let sweep = Sweep::new(&bounds, &boxes, [along, across]);
    let most = Maxima::new(&sweep.slices);
    regions.iter().map(|region| most.over(sweep.range(region.axes()[along]))).collect()
}

/// For each region, some of its elements that none of so many of these boxes covers, the first ones. The regions are cut on one axis at
/// most.
pub fn holes(boxes: &[Region], regions: &[(Region, usize)]) -> Vec<Option<Region>> {
    let asked = || regions.iter().map(|(region, _)| region);
    let Some(bounds) = bounds(boxes.iter().chain(asked())) else { return Vec::new() };
    let timed = clipped(&bounds, boxes.iter().copied().enumerate().map(|(time, one)| (one, time)));
    let [along, across] = axes_for_all(&bounds, &timed, asked());
    let sweep = Sweep::new(&bounds, &timed, [along, across]);
    let hole = |&(region, count): &(Region, usize)| {
        let is_late = |&index: &usize| {
            let First { latest, is_complete } = sweep.slices[index];
            !is_complete || latest >= Some(count)
        };
        let index = sweep.range(region.axes()[along]).find(is_late)?;
        let slice = sweep.part(&region, index).intersection(&region);
        let within = timed.iter().filter(|(one, time)| *time < count && one.overlaps(&slice));
        gap(&slice, within, across)
    };
    regions.iter().map(hole).collect()
}

/// The axes along and across which one sweep answers for all of these regions: along the one on which the regions are cut, if they are.
fn axes_for_all<'r>(
    bounds: &Region,
    boxes: &'r [Timed],
    regions: impl Iterator<Item = &'r Region> + Clone,
) -> [usize; 2] {
    let asked = cut_axes(bounds, regions.clone());
    assert!(asked.len() <= 1, "{asked:?}");
    let cut = cut_axes(bounds, boxes.iter().map(|(one, _)| one).chain(regions));
    let [first, second] = two_axes(&cut);
    match asked[..] {
        [along] if along == second => [second, first],
        _ => [first, second],
    }
}

/// The axes of a sweep over boxes that are cut on these, which are at most two, in order; where they are fewer, with any others.
pub fn two_axes(cut: &[usize]) -> [usize; 2] {
    assert!(cut.len() <= 2, "{cut:?}");
    let first = cut.first().copied().unwrap_or(0);
    let second = cut.get(1).copied().unwrap_or((first + 1) % MAX_RANK);
    [first, second]
}

/// A box and when it comes.
type Timed = (Region, usize);

/// The parts of the boxes in a region; of equal ones, the first.
fn clipped(region: &Region, boxes: impl Iterator<Item = Timed>) -> Vec<Timed> {
    let mut seen: HashMap<Region, ()> = HashMap::new();
    boxes
        .map(|(one, time)| (one.intersection(region), time))
        .filter(|(one, _)| !one.is_empty() && seen.insert(*one, ()).is_none())
        .collect()
}

/// The least box that holds all of them.
pub fn bounds<'a>(regions: impl Iterator<Item = &'a Region>) -> Option<Region> {
    regions.copied().reduce(|bounds, region| bounds.hull(&region))
}

/// The axes on which some of the boxes do not reach from end to end of the region.
pub fn cut_axes<'a>(region: &Region, boxes: impl Iterator<Item = &'a Region>) -> Vec<usize> {
    let mut cut = [false; MAX_RANK];
    for one in boxes {
        for ((cut, ends), whole) in cut.iter_mut().zip(one.axes()).zip(region.axes()) {
            *cut |= ends != whole;
        }
    }
    (0..MAX_RANK).filter(|&axis| cut[axis]).collect()
}

/// The places on an axis at which a region or one of the boxes begins or ends, in order.
pub fn cuts<'a>(region: &Region, boxes: impl Iterator<Item = &'a Region>, axis: usize) -> Vec<i64> {
    let mut cuts: Vec<i64> = boxes.flat_map(|one| one.axes()[axis]).collect();
    cuts.extend(region.axes()[axis]);
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// A region cut into slices along one axis, and what covers each.
struct Sweep {
    axis: usize,
    cuts: Vec<i64>,
    slices: Vec<First>,
}

impl Sweep {
    /// Of boxes that reach from end to end on every axis but these two.
    fn new(region: &Region, boxes: &[Timed], [along, across]: [usize; 2]) -> Sweep {
        let cuts_of = |axis| cuts(region, boxes.iter().map(|(one, _)| one), axis);
        let (cuts, intervals) = (cuts_of(along), cuts_of(across));
        let place = |cuts: &[i64], at: i64| cuts.partition_point(|&cut| cut < at);
        let mut starting: Vec<Vec<u32>> = vec![Vec::new(); cuts.len()];
        let mut ending = starting.clone();
        for (index, (one, _)) in boxes.iter().enumerate() {
            let [low, high] = one.axes()[along].map(|at| place(&cuts, at));
            starting[low].push(index as u32);
            ending[high].push(index as u32);
        }
        let mut tree = Tree::new(intervals.len().saturating_sub(1).max(1), boxes.len());
        let mut slices = Vec::with_capacity(cuts.len());
        for at in 0..cuts.len().saturating_sub(1) {
            for (list, begins) in [(&ending[at], false), (&starting[at], true)] {
                for &index in list {
                    let span = boxes[index as usize].0.axes()[across].map(|at| place(&intervals, at));
                    tree.change(index, span, begins);
                }
            }
            let (latest, is_complete) = tree.root();
            slices.push(First { latest: latest.map(|index| boxes[index as usize].1), is_complete });
        }
        Sweep { axis: along, cuts, slices }
    }

    /// One slice.
    fn part(&self, region: &Region, index: usize) -> Region {
        region.slice(self.axis, self.cuts[index], self.cuts[index + 1] - self.cuts[index])
    }

    /// One slice, with the parts of the boxes in it.
    fn slice(&self, region: &Region, boxes: &[Timed], index: usize) -> (Region, Vec<Timed>) {
        let slice = self.part(region, index);
        let within = clipped(&slice, boxes.iter().copied());
        (slice, within)
    }

    /// The slices that an interval meets.
    fn range(&self, [low, high]: [i64; 2]) -> std::ops::Range<usize> {
        let first = self.cuts.partition_point(|&cut| cut <= low).saturating_sub(1);
        let end = self.cuts.partition_point(|&cut| cut < high);
        first..end.min(self.slices.len())
    }
}

/// The maxima of all runs of slices whose length is a power of two.
struct Maxima(Vec<Vec<First>>);

impl Maxima {
    fn new(slices: &[First]) -> Maxima {
        let mut rows = vec![slices.to_vec()];
        let mut length = 1;
        while 2 * length <= slices.len() {
            let last = &rows[rows.len() - 1];
            let next = (0..=slices.len() - 2 * length).map(|at| last[at].and(last[at + length])).collect();
            rows.push(next);
            length *= 2;
        }
        Maxima(rows)
    }

    fn over(&self, range: std::ops::Range<usize>) -> First {
        let Some(level) = range.len().checked_ilog2() else { return First::NOTHING };
        let row = &self.0[level as usize];
        row[range.start].and(row[range.end - (1 << level)])
    }
}

/// The boxes that the line meets, by the intervals of the other axis that they cover.
struct Tree {
    leaves: usize,
    nodes: Vec<Node>,
    /// Whether the line meets the box.
    is_met: Vec<bool>,
}

#[derive(Clone, Default)]
struct Node {
    /// Boxes that cover the whole of this node and not of the one above; some may have been left behind.
    boxes: BinaryHeap<Reverse<u32>>,
    /// Of the intervals below that are covered, counting what stands here and below, the one that is covered last: its
    /// first box.
    latest: Option<u32>,
    is_complete: bool,
}

impl Tree {
    fn new(leaves: usize, boxes: usize) -> Tree {
        let size = 2 * leaves.next_power_of_two();
        Tree { leaves, nodes: vec![Node::default(); size], is_met: vec![false; boxes] }
    }

    fn root(&self) -> (Option<u32>, bool) {
        (self.nodes[1].latest, self.nodes[1].is_complete)
    }

    /// The line reaches a box, or leaves it.
    fn change(&mut self, index: u32, span: [usize; 2], is_met: bool) {
        self.is_met[index as usize] = is_met;
        self.visit(1, [0, self.leaves], span, index);
    }

    fn visit(&mut self, at: usize, [low, high]: [usize; 2], span: [usize; 2], index: u32) {
        if span[0] >= high || span[1] <= low {
            return;
        }
        let is_leaf = high - low == 1;
        if span[0] <= low && high <= span[1] {
            if self.is_met[index as usize] {
                self.nodes[at].boxes.push(Reverse(index));
            }
        } else {
            let middle = low.midpoint(high);
            self.visit(2 * at, [low, middle], span, index);
            self.visit(2 * at + 1, [middle, high], span, index);
        }
        let (latest, is_complete) = if is_leaf {
            (None, false)
        } else {
            let [left, right] = [&self.nodes[2 * at], &self.nodes[2 * at + 1]];
            (left.latest.max(right.latest), left.is_complete && right.is_complete)
        };
        let node = &mut self.nodes[at];
        while node.boxes.peek().is_some_and(|Reverse(index)| !self.is_met[*index as usize]) {
            node.boxes.pop();
        }
        (node.latest, node.is_complete) = match node.boxes.peek() {
            None => (latest, is_complete),
            // What nothing below covers is covered by this one first.
            Some(&Reverse(index)) if !is_complete => (Some(index), true),
            Some(&Reverse(index)) => (latest.min(Some(index)), true),
        };
    }
}

/// For tests: random boxes, and their elements one by one.
#[cfg(test)]
pub mod testing {
    use megakernel_ir::prng::SplitMix64;

    use crate::region::Region;

    /// Random boxes of a buffer of this shape, cut on these axes.
    pub fn boxes(rng: &mut SplitMix64, shape: &[i64], axes: &[usize], count: usize) -> Vec<Region> {
        let one = |_| {
            axes.iter().fold(Region::whole(shape), |region, &axis| {
                let start = rng.below(shape[axis] as u64) as i64;
                let length = 1 + rng.below((shape[axis] - start) as u64) as i64;
                region.slice(axis, start, length)
            })
        };
        (0..count).map(one).collect()
    }

    /// All elements of a box.
    pub fn elements(region: &Region) -> impl Iterator<Item = [i64; 4]> + '_ {
        let [a, b, c, d] = *region.axes();
        (a[0]..a[1]).flat_map(move |i| {
            (b[0]..b[1])
                .flat_map(move |j| (c[0]..c[1]).flat_map(move |k| (d[0]..d[1]).map(move |l| [i, j, k, l])))
        })
    }

    /// Whether a box holds an element.
    pub fn holds(region: &Region, element: [i64; 4]) -> bool {
        region.axes().iter().zip(element).all(|([low, high], at)| (*low..*high).contains(&at))
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{boxes, elements, holds};
    use super::*;
    use megakernel_ir::prng::SplitMix64;

    #[test]
    fn covers_are_those_of_the_elements() {
        let shapes: [(&[i64], &[&[usize]]); 4] = [
            (&[40], &[&[0]]),
            (&[9, 11], &[&[0], &[1], &[0, 1], &[1, 0]]),
            (&[6, 2, 7], &[&[0], &[2], &[0, 2]]),
            (&[2, 5, 3, 4], &[&[1], &[3], &[1, 3]]),
        ];
        let mut rng = SplitMix64::new(7);
        let (mut complete, mut not) = (0, 0);
        for (shape, cuts) in shapes {
            for axes in cuts {
                for count in [1, 3, 20, 60] {
                    for _ in 0..10 {
                        let written = boxes(&mut rng, shape, axes, count);
                        let mut asked = boxes(&mut rng, shape, &axes[..1], 5);
                        asked.push(Region::whole(shape));
                        for (region, found) in asked.iter().zip(firsts(&written, &asked)) {
                            let first = |element| written.iter().position(|one| holds(one, element));
                            let expected = First {
                                latest: elements(region).filter_map(first).max(),
                                is_complete: elements(region).all(|element| first(element).is_some()),
                            };
                            assert_eq!(found, expected, "{region:?} of {written:?}");
                            // Of some of the boxes, one by one and all regions at once.
                            for count in [0, written.len() / 2, written.len()] {
                                let some = &written[..count];
                                let together: Vec<_> = asked.iter().map(|&region| (region, count)).collect();
                                let at_once = holes(&written, &together);
                                let place = asked.iter().position(|one| one == region).unwrap_or_default();
                                let found = at_once[place];
                                assert_eq!(
                                    found.is_some(),
                                    uncovered(region, some.iter().copied()).is_some()
                                );
                                if let Some(part) = found {
                                    assert!(!part.is_empty() && part.intersection(region) == part);
                                    assert!(!some.iter().any(|one| one.overlaps(&part)));
                                }
                            }
                        }
                        // What a read and a write have in common is cut on two axes.
                        asked.extend(boxes(&mut rng, shape, axes, 3));
                        for region in &asked {
                            let is_covered = |element| written.iter().any(|one| holds(one, element));
                            let is_complete = elements(region).all(is_covered);
                            match uncovered(region, written.iter().copied()) {
                                None => assert!(is_complete),
                                Some(part) => {
                                    assert!(!part.is_empty() && part.intersection(region) == part);
                                    assert!(!written.iter().any(|one| one.overlaps(&part)));
                                }
                            }
                            if is_complete { complete += 1 } else { not += 1 }
                        }
                    }
                }
            }
        }
        assert!(complete > 500 && not > 500, "{complete} {not}");
    }
}
