//! What reads of one buffer lack: elements that nobody writes before them, and rows of a cache that are written only after them.

use megakernel_ir::TaskId;
use megakernel_ir::diagnostic::AccessKind;
use megakernel_order::KEPT_PER_RULE;
use megakernel_order::happens_before::{Bits, LANES};

use super::{Exact, Lying};
use crate::region::Region;
use crate::validate::accesses::Access;
use crate::validate::race::cover::{First, firsts, holes, uncovered};
use crate::validate::race::gaps::{Counted, gaps};
use crate::validate::race::lanes;

/// Up to this many accesses, reads are judged one by one.
const ONE_BY_ONE: usize = 32;
/// Of so many racing reads, each is asked whether it lacks elements too; what races is rejected without that.
const ASKED: usize = 1 << 13;
/// Of so many reads, it is said what is wrong with them.
const KEPT: usize = KEPT_PER_RULE as usize;

/// The overlapping writes by other tasks, by how they lie to a read.
#[derive(Clone, Debug, Default)]
struct Lists {
    before: Vec<usize>,
    after: Vec<usize>,
    unordered: Vec<usize>,
}

impl Exact<'_> {
    /// The writes around some reads.
    fn lists(&self, reads: &[usize]) -> Vec<Lists> {
        let mut lists = vec![Lists::default(); reads.len()];
        self.batches(reads, &mut |batch| {
            let places: Vec<Option<usize>> =
                batch.chosen.iter().map(|index| reads.binary_search(index).ok()).collect();
            self.compare(batch, &mut |write, lying| {
                let mut each = |bits: Bits, list: fn(&mut Lists) -> &mut Vec<usize>| {
                    for place in lanes::each(bits).filter_map(|lane| places[lane - batch.base]) {
                        list(&mut lists[place]).push(write);
                    }
                };
                each(lying.after, |lists| &mut lists.before);
                each(lying.before, |lists| &mut lists.after);
                each(lying.unordered, |lists| &mut lists.unordered);
            });
        });
        lists
    }

    /// Whether the task of an access writes the buffer as well.
    fn is_in_place(&self, read: usize) -> bool {
        let task = self.accesses[read].task;
        let first = self.accesses.partition_point(|access| access.task < task);
        let own = self.accesses[first..].iter().take_while(|access| access.task == task);
        own.into_iter().any(|access| access.kind == AccessKind::Write)
    }

    /// The accesses in an order that agrees with happens-before: the place of each.
    fn places(&self, rank: &dyn Fn(TaskId) -> u32) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.accesses.len()).collect();
        let key = |&i: &usize| {
            let access = &self.accesses[i];
            (rank(access.task), access.task, access.kind)
        };
        order.sort_by_cached_key(key);
        let mut places = vec![0; order.len()];
        order.into_iter().enumerate().for_each(|(place, index)| places[index] = place);
        places
    }

    /// All writes, by their places.
    fn writes_by_place(&self, places: &[usize]) -> Vec<usize> {
        let mut writes: Vec<usize> =
            (0..self.accesses.len()).filter(|&i| self.accesses[i].kind == AccessKind::Write).collect();
        writes.sort_unstable_by_key(|&write| places[write]);
        writes
    }

    /// Some elements of each of these reads that no write before it holds, nor one that is unordered with it.
    fn missing(&self, reads: &[usize], writes: &[usize], places: &[usize]) -> Vec<Option<Region>> {
        if reads.is_empty() {
            return Vec::new();
        }
        let regions: Vec<Region> = writes.iter().map(|&write| self.accesses[write].region).collect();
        let asked = reads.iter().map(|&read| {
            let before = writes.partition_point(|&write| places[write] < places[read]);
            let count = if self.facts[read].racing.is_none() { before } else { writes.len() };
            (self.accesses[read].region, count)
        });
        holes(&regions, &asked.collect::<Vec<_>>())
    }

    /// Of each of these reads, the write that is first for the element that is written last, by its place, and whether all
    /// of its elements are written.
    fn first_writes(&self, reads: &[usize], writes: &[usize], places: &[usize]) -> Vec<First> {
        let region = |&index: &usize| self.accesses[index].region;
        let (boxes, regions): (Vec<Region>, Vec<Region>) =
            (writes.iter().map(region).collect(), reads.iter().map(region).collect());
        let mut found = firsts(&boxes, &regions);
        for first in &mut found {
            first.latest = first.latest.map(|index| places[writes[index]]);
        }
        found
    }

    /// Those of these reads that may have elements which no write holds but those after them. Of the others this is known from
    /// writes that happen after no access behind the read in task-list order.
    fn uncertain(&self, reads: Vec<usize>) -> Vec<usize> {
        if reads.is_empty() {
            return reads;
        }
        let mut writes: Vec<usize> = self.writes().collect();
        writes.sort_by_key(|&write| self.last_before[write]);
        let region = |&index: &usize| self.accesses[index].region;
        let (boxes, regions): (Vec<Region>, Vec<Region>) =
            (writes.iter().map(region).collect(), reads.iter().map(region).collect());
        let is_uncertain = |&(read, first): &(usize, First)| {
            let latest = first.latest.and_then(|index| self.last_before[writes[index]]);
            // What a task writes itself is neither before nor beside what it reads.
            !first.is_complete || latest >= Some(read) || self.is_in_place(read)
        };
        reads.into_iter().zip(firsts(&boxes, &regions)).filter(is_uncertain).map(|(read, _)| read).collect()
    }

    /// Of these reads, those with elements that some write wants and none covers, as `of` says of a write and the reads around
    /// it; or, if all elements are wanted, that none covers.
    fn gaps(&self, reads: &[usize], wants_all: bool, of: fn(&Lying) -> [Bits; 2]) -> Vec<(usize, Region)> {
        let mut found = Vec::new();
        self.batches(reads, &mut |batch| {
            let open = batch.lanes(reads);
            let regions: Vec<Region> = batch.chosen.iter().map(|&i| self.accesses[i].region).collect();
            let (all, mut boxes) = (if wants_all { open } else { Bits::default() }, Vec::new());
            self.compare(batch, &mut |write, lying| {
                let [covers, wants] = of(lying).map(|bits| lanes::both(bits, &open));
                if !lanes::is_empty(&covers) || !lanes::is_empty(&wants) {
                    boxes.push(Counted { region: self.accesses[write].region, covers, wants });
                }
            });
            let gaps = gaps(&regions, batch.base, open, all, &boxes);
            found.extend(gaps.into_iter().map(|(lane, gap)| (batch.chosen[lane - batch.base], gap)));
        });
        found.sort_unstable_by_key(|&(read, _)| read);
        found
    }

    /// The reads that break M05; of the first of them, also the elements that nobody writes.
    pub fn unwritten(&self, rank: &dyn Fn(TaskId) -> u32) -> Vec<(usize, Option<Region>)> {
        // A read that nothing is ordered before is R02's.
        let reads: Vec<usize> = self.reads().filter(|&read| self.is_produced(read)).collect();
        if reads.is_empty() {
            return Vec::new();
        }
        if self.accesses.len() <= ONE_BY_ONE {
            let some = reads.iter().zip(self.lists(&reads));
            return some
                .filter_map(|(&read, lists)| Some((read, Some(self.unwritten_of(read, &lists)?))))
                .collect();
        }
        let (mut broken, mut open) = (Vec::new(), Vec::new());
        let places = self.places(rank);
        let writes = self.writes_by_place(&places);
        for (&read, first) in reads.iter().zip(self.first_writes(&reads, &writes, &places)) {
            let facts = &self.facts[read];
            // Every write at an earlier place that overlaps the read happens before it, or is unordered with it.
            if first.is_complete && first.latest < Some(places[read]) {
                continue;
            }
            if facts.racing.is_none() {
                broken.push(read);
            } else if facts.is_overtaken || self.is_in_place(read) {
                open.push(read);
            } else if !first.is_complete {
                broken.push(read);
            }
        }
        let (first, rest) = broken.split_at(broken.len().min(KEPT));
        let mut found: Vec<_> = first.iter().copied().zip(self.missing(first, &writes, &places)).collect();
        found.extend(rest.iter().map(|&read| (read, None)));
        open = self.uncertain(open);
        open.truncate(ASKED);
        for some in open.chunks(LANES) {
            // More than enough are known.
            if found.len() > KEPT {
                break;
            }
            let gaps = self.gaps(some, true, |lying| {
                let mut covers = lying.after;
                lanes::add(&mut covers, &lying.unordered);
                [covers, Bits::default()]
            });
            found.extend(gaps.into_iter().map(|(read, gap)| (read, Some(gap))));
        }
        found.sort_unstable_by_key(|&(read, _)| read);
        found
    }

    /// Some elements of the read that nobody writes. An unordered write counts: whether it comes first is R03's and R05's
    /// business.
    fn unwritten_of(&self, read: usize, lists: &Lists) -> Option<Region> {
        let writes = lists.before.iter().chain(&lists.unordered);
        uncovered(&self.accesses[read].region, writes.map(|&write| self.accesses[write].region))
    }

    /// The reads of a cache that take what an earlier launch left of elements that this one writes later, in order; of the
    /// first of them, also the write and the elements.
    pub fn stale(&self, rank: &dyn Fn(TaskId) -> u32) -> Vec<(usize, Option<(usize, Region)>)> {
        let overtaken = |&read: &usize| self.facts[read].racing.is_none() && self.facts[read].is_overtaken;
        let reads: Vec<usize> = self.reads().filter(overtaken).collect();
        if reads.is_empty() {
            return Vec::new();
        }
        if self.accesses.len() <= ONE_BY_ONE {
            let some = reads.iter().zip(self.lists(&reads));
            return some
                .filter_map(|(&read, lists)| Some((read, Some(self.stale_by(read, &lists)?))))
                .collect();
        }
        let (mut broken, mut open) = (Vec::new(), Vec::new());
        let places = self.places(rank);
        let writes = self.writes_by_place(&places);
        for (&read, first) in reads.iter().zip(self.first_writes(&reads, &writes, &places)) {
            if first.latest < Some(places[read]) {
                continue;
            }
            if self.is_in_place(read) { open.push(read) } else { broken.push(read) }
        }
        for some in open.chunks(LANES) {
            broken.extend(self.outdated(some).into_iter().map(|(read, _)| read));
        }
        broken.sort_unstable();
        let (first, rest) = broken.split_at(broken.len().min(KEPT));
        let said = self.outdated(first).into_iter().map(|(read, gap)| {
            // Nothing is unordered with these reads: what comes later in the order comes after them.
            let part = |write: &Access| gap.intersection(&write.region);
            let by = self.accesses.iter().zip(&places).position(|(other, &place)| {
                let is_later = other.task != self.accesses[read].task && place > places[read];
                is_later && other.kind == AccessKind::Write && !part(other).is_empty()
            });
            (read, by.map(|write| (write, part(&self.accesses[write]))))
        });
        said.chain(rest.iter().map(|&read| (read, None))).collect()
    }

    /// Of these reads, those with elements that are written after them and not before, and some of these elements.
    fn outdated(&self, reads: &[usize]) -> Vec<(usize, Region)> {
        self.gaps(reads, false, |lying| [lying.after, lying.before])
    }

    /// A write after the read, and elements of both that no write before the read holds.
    fn stale_by(&self, read: usize, lists: &Lists) -> Option<(usize, Region)> {
        lists.after.iter().find_map(|&write| {
            let before = lists.before.iter().map(|&write| self.accesses[write].region);
            Some((write, uncovered(&self.shared(read, write), before)?))
        })
    }
}
