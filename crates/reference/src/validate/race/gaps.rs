//! What some hundred regions lack, each of which other boxes cover: all of them in one sweep.
//!
//! Boxes carry a bit for each region that they count for. Where they are cut on two axes, the first is halved again and again.
//! A box that reaches from end to end of a part stands in a tree over the intervals of the second axis while that part is
//! looked at, and is taken out again afterwards. So each box enters the tree at most twice for each halving, which takes
//! n log² n for n boxes. Accesses of a buffer are cut on two axes at most, as [`cover`] says.

use megakernel_order::happens_before::Bits;

use crate::region::Region;
use crate::validate::race::cover::{self, cut_axes, cuts, two_axes};
use crate::validate::race::lanes::{self, Lanes};

/// A box, and the lanes that it counts for.
#[derive(Clone, Copy)]
pub struct Counted {
    /// Its elements.
    pub region: Region,
    /// The lanes for which it covers its elements.
    pub covers: Bits,
    /// The lanes that need its elements covered.
    pub wants: Bits,
}

/// Of each of the lanes `open`, some elements that no box covers, if there are any: of the lanes `all`, of all elements; of the
/// others, of those that a box wants. The regions are those of the lanes from `base` on.
pub fn gaps(
    regions: &[Region],
    base: usize,
    open: Bits,
    all: Bits,
    boxes: &[Counted],
) -> Vec<(usize, Region)> {
    let asked = lanes::each(open).filter_map(|lane| regions.get(lane.checked_sub(base)?));
    let Some(bounds) = cover::bounds(asked) else { return Vec::new() };
    let mut search = Search { regions, base, open, found: Vec::new() };
    let mut boxes = within(&bounds, boxes);
    boxes.push(Counted { region: bounds, covers: Bits::default(), wants: all });
    search.search(&bounds, open, &boxes);
    search.found
}

/// The parts of the boxes in a region.
fn within(region: &Region, boxes: &[Counted]) -> Vec<Counted> {
    let clipped = boxes.iter().map(|one| Counted { region: one.region.intersection(region), ..*one });
    clipped.filter(|one| !one.region.is_empty()).collect()
}

struct Search<'s> {
    regions: &'s [Region],
    base: usize,
    /// The lanes of which nothing has been found.
    open: Bits,
    found: Vec<(usize, Region)>,
}

impl Search<'_> {
    /// Which lanes an interval of an axis concerns.
    fn lanes(&self, axis: usize) -> Lanes {
        Lanes::new(self.regions, self.base, std::array::from_fn(|other| other == axis))
    }

    fn search(&mut self, bounds: &Region, lanes: Bits, boxes: &[Counted]) {
        let axes = two_axes(&cut_axes(bounds, boxes.iter().map(|one| &one.region)));
        Sweep::new(self, bounds, boxes, axes).run(lanes);
    }
}

/// The places of a box between the cuts of the two axes.
type Spans = [[usize; 2]; 2];

struct Sweep<'a, 's> {
    search: &'a mut Search<'s>,
    bounds: &'a Region,
    boxes: &'a [Counted],
    axes: [usize; 2],
    cuts: [Vec<i64>; 2],
    spans: Vec<Spans>,
    /// Along the first axis.
    concerned: Lanes,
    tree: Tree,
}

impl<'a, 's> Sweep<'a, 's> {
    fn new(
        search: &'a mut Search<'s>,
        bounds: &'a Region,
        boxes: &'a [Counted],
        axes: [usize; 2],
    ) -> Sweep<'a, 's> {
        let cuts = axes.map(|axis| cuts(bounds, boxes.iter().map(|one| &one.region), axis));
        let place = |index: usize, at: i64| cuts[index].partition_point(|&cut| cut < at);
        let span =
            |one: &Counted| [0, 1].map(|index| one.region.axes()[axes[index]].map(|at| place(index, at)));
        let spans = boxes.iter().map(span).collect();
        let concerned = search.lanes(axes[0]);
        let tree = Tree::new(cuts[1].len().saturating_sub(1).max(1));
        Sweep { search, bounds, boxes, axes, cuts, spans, concerned, tree }
    }

    fn run(mut self, lanes: Bits) {
        let (along, leaves) = (self.cuts[0].len().saturating_sub(1), self.tree.leaves);
        // What lies beside its region counts as covered for a lane.
        for lane in lanes::each(lanes) {
            let [low, high] = self.search.regions[lane - self.search.base].axes()[self.axes[1]];
            let first = self.cuts[1].partition_point(|&cut| cut <= low).saturating_sub(1);
            let end = self.cuts[1].partition_point(|&cut| cut < high).min(leaves);
            let mut covers = Bits::default();
            lanes::set(&mut covers, lane);
            self.tree.add([0, first], &covers, &Bits::default());
            self.tree.add([end, leaves], &covers, &Bits::default());
        }
        let all: Vec<u32> = (0..self.boxes.len() as u32).collect();
        self.part([0, along], lanes, &all);
    }

    /// Looks at a part of the first axis, which these boxes meet without having entered the tree.
    fn part(&mut self, [low, high]: [usize; 2], lanes: Bits, boxes: &[u32]) {
        if low >= high {
            return;
        }
        let [from, to] = [self.cuts[0][low], self.cuts[0][high]];
        let part = self.bounds.slice(self.axes[0], from, to - from);
        let concerned = lanes::both(lanes, &self.concerned.overlapping(&part));
        let lanes = lanes::both(concerned, &self.search.open);
        let before = self.tree.log.len();
        let mut partial = Vec::new();
        for &index in boxes {
            let [[first, end], span] = self.spans[index as usize];
            if end <= low || high <= first {
                continue;
            }
            let one = &self.boxes[index as usize];
            let (covers, wants) = (lanes::both(one.covers, &lanes), lanes::both(one.wants, &lanes));
            if lanes::is_empty(&covers) && lanes::is_empty(&wants) {
                continue;
            }
            if first <= low && high <= end {
                self.tree.add(span, &covers, &wants);
            } else {
                partial.push(index);
            }
        }
        // The halves of this part have no other gaps than it has by now, or than boxes that want more of it leave.
        let Node { bare, gaps, .. } = self.tree.nodes[1];
        let mut possible = gaps;
        partial.iter().for_each(|&index| lanes::add(&mut possible, &self.boxes[index as usize].wants));
        let lanes = lanes::both(lanes::both(lanes, &bare), &possible);
        if partial.is_empty() {
            for lane in lanes::each(lanes) {
                let at = self.tree.gap(lane);
                let [from, to] = [self.cuts[1][at], self.cuts[1][at + 1]];
                let gap = part.slice(self.axes[1], from, to - from);
                let region = &self.search.regions[lane - self.search.base];
                self.search.found.push((lane, gap.intersection(region)));
                lanes::clear(&mut self.search.open, lane);
            }
        } else if !lanes::is_empty(&lanes) {
            let middle = low.midpoint(high);
            self.part([low, middle], lanes, &partial);
            self.part([middle, high], lanes, &partial);
        }
        self.tree.undo(before);
    }
}

/// Intervals of the second axis, and what is covered of them for each lane.
struct Tree {
    leaves: usize,
    nodes: Vec<Node>,
    /// What the nodes were before they changed.
    log: Vec<(usize, Node)>,
}

#[derive(Clone, Copy)]
struct Node {
    /// The lanes for which boxes cover the whole of this node, and those that want it.
    covers: Bits,
    wants: Bits,
    /// By what stands here and below: the lanes for which something is uncovered, and for which that is wanted.
    bare: Bits,
    gaps: Bits,
}

impl Tree {
    fn new(leaves: usize) -> Tree {
        let none = Bits::default();
        let node = Node { covers: none, wants: none, bare: lanes::from(0), gaps: none };
        Tree { leaves, nodes: vec![node; 2 * leaves.next_power_of_two()], log: Vec::new() }
    }

    fn add(&mut self, span: [usize; 2], covers: &Bits, wants: &Bits) {
        self.visit(1, [0, self.leaves], span, covers, wants);
    }

    fn visit(&mut self, at: usize, [low, high]: [usize; 2], span: [usize; 2], covers: &Bits, wants: &Bits) {
        if span[0] >= high || span[1] <= low {
            return;
        }
        // What stands here stays for as long as what is added now: it says nothing new to those below.
        let node = self.nodes[at];
        let covers = lanes::without(*covers, &node.covers);
        let wants = lanes::without(lanes::without(*wants, &node.covers), &node.wants);
        if lanes::is_empty(&covers) && lanes::is_empty(&wants) {
            return;
        }
        let mut new = node;
        let is_leaf = high - low == 1;
        if span[0] <= low && high <= span[1] {
            lanes::add(&mut new.covers, &covers);
            lanes::add(&mut new.wants, &wants);
        } else {
            let middle = low.midpoint(high);
            self.visit(2 * at, [low, middle], span, &covers, &wants);
            self.visit(2 * at + 1, [middle, high], span, &covers, &wants);
        }
        let (mut bare, mut gaps) = (lanes::from(0), Bits::default());
        if !is_leaf {
            let [left, right] = [&self.nodes[2 * at], &self.nodes[2 * at + 1]];
            (bare, gaps) = (left.bare, left.gaps);
            lanes::add(&mut bare, &right.bare);
            lanes::add(&mut gaps, &right.gaps);
        }
        lanes::add(&mut gaps, &lanes::both(new.wants, &bare));
        new.bare = lanes::without(bare, &new.covers);
        new.gaps = lanes::without(gaps, &new.covers);
        self.log.push((at, node));
        self.nodes[at] = new;
    }

    /// Takes out what was added since the log was so long.
    fn undo(&mut self, length: usize) {
        for (at, node) in self.log.drain(length..).rev() {
            self.nodes[at] = node;
        }
    }

    /// An interval that this lane wants and nothing covers, of which there has to be one.
    fn gap(&self, lane: usize) -> usize {
        let has = |bits: &Bits| bits[lane / 64] >> (lane % 64) & 1 == 1;
        let ([mut low, mut high], mut at, mut is_wanted) = ([0, self.leaves], 1, false);
        while high - low > 1 {
            is_wanted |= has(&self.nodes[at].wants);
            let left = &self.nodes[2 * at];
            let middle = low.midpoint(high);
            if has(if is_wanted { &left.bare } else { &left.gaps }) {
                (at, high) = (2 * at, middle);
            } else {
                (at, low) = (2 * at + 1, middle);
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::race::cover::testing::{boxes, elements, holds};
    use megakernel_ir::prng::SplitMix64;

    #[test]
    fn gaps_are_those_of_the_elements() {
        let shapes: [(&[i64], &[&[usize]]); 4] = [
            (&[40], &[&[0]]),
            (&[9, 11], &[&[0], &[1], &[0, 1]]),
            (&[6, 3, 7], &[&[0], &[2], &[0, 2]]),
            (&[3, 5, 4, 4], &[&[1], &[3], &[1, 3]]),
        ];
        let mut rng = SplitMix64::new(11);
        let (mut complete, mut not) = (0, 0);
        for (shape, cuts) in shapes {
            for axes in cuts {
                for count in [0, 1, 4, 20, 80] {
                    for base in [0, 60] {
                        let regions = boxes(&mut rng, shape, axes, 12);
                        let mut some_lanes = || {
                            let mut bits = Bits::default();
                            let chosen = (0..regions.len()).filter(|_| rng.below(3) > 0);
                            chosen.for_each(|lane| lanes::set(&mut bits, base + lane));
                            bits
                        };
                        let (open, all) = (some_lanes(), some_lanes());
                        let counts: Vec<[Bits; 2]> =
                            (0..count).map(|_| [some_lanes(), some_lanes()]).collect();
                        let counted: Vec<Counted> = boxes(&mut rng, shape, axes, count)
                            .into_iter()
                            .zip(counts)
                            .map(|(region, [covers, wants])| Counted { region, covers, wants })
                            .collect();
                        let found = gaps(&regions, base, open, all, &counted);
                        assert!(found.iter().all(|&(lane, _)| lanes::each(open).any(|one| one == lane)));
                        for lane in lanes::each(open) {
                            let has = |bits: &Bits| lanes::each(*bits).any(|one| one == lane);
                            let is_gap = |element: [i64; 4]| {
                                let mut around = counted.iter().filter(|one| holds(&one.region, element));
                                (has(&all) || around.clone().any(|one| has(&one.wants)))
                                    && !around.any(|one| has(&one.covers))
                            };
                            let region = &regions[lane - base];
                            let expected = elements(region).any(is_gap);
                            let mut gaps = found.iter().filter(|&&(one, _)| one == lane);
                            match gaps.next() {
                                None => assert!(!expected, "{region:?} lacks something"),
                                Some((_, gap)) => {
                                    assert!(!gap.is_empty() && gap.intersection(region) == *gap);
                                    assert!(elements(gap).all(is_gap), "{gap:?} of {region:?}");
                                }
                            }
                            assert!(gaps.next().is_none());
                            if expected { not += 1 } else { complete += 1 }
                        }
                    }
                }
            }
        }
        assert!(complete > 150 && not > 150, "{complete} {not}");
    }
}
