//! The accesses of one buffer compared with each other, for saying precisely what is wrong with it.
//!
//! Some hundred accesses are compared with all others at a time: one pass over the counters says which tasks come before and
//! after theirs, and one look at each axis says which boxes overlap. What is left is a few operations on bits for each
//! access, so that all pairs of 100,000 accesses take a few seconds.

mod reads;

use std::collections::BTreeSet;

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::{BufferId, TaskId};
use megakernel_order::happens_before::{Around, Bits, HappensBefore, LANES};

use crate::region::{MAX_RANK, Region};
use crate::validate::accesses::Access;
use crate::validate::race::Suspects;
use crate::validate::race::lanes::{self, Lanes};

/// How many reads of a buffer, for each how many writes, and how many accesses in all decide between R03 and R05. A buffer with
/// few accesses has no more, so that every diagnostic of the specification is found.
const READS: usize = LANES;
const WRITES: usize = 1 << 10;
const CHOSEN: usize = 1 << 11;
/// A buffer with more accesses than this has only those judged that the search for suspects has named, if it has named any.
const JUDGE_ALL: usize = 1 << 17;

/// The accesses of one buffer, in task-list order.
pub struct Exact<'o> {
    /// The buffer.
    pub buffer: BufferId,
    /// Reads and writes.
    pub accesses: Vec<Access>,
    relations: Relations<'o>,
    judged: Vec<usize>,
    /// Of each access that is judged.
    facts: Vec<Facts>,
    /// Of each write, the last access that is judged and before it; accesses behind that one are not.
    last_before: Vec<Option<usize>>,
    cut: [bool; MAX_RANK],
}

/// Where the order of the tasks comes from.
#[derive(Clone, Copy)]
pub enum Relations<'o> {
    /// From one set of lanes, of which those from here on are this buffer's accesses.
    Known(&'o Around<'o, 'o>, usize),
    /// Computed for some of the accesses at a time.
    Computed(&'o HappensBefore<'o>),
}

/// What the overlapping writes by other tasks are to an access.
#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    /// Whether one happens before it.
    is_produced: bool,
    /// Whether one happens after it.
    is_overtaken: bool,
    /// The first one that is unordered with it.
    racing: Option<usize>,
    /// The first one of an earlier task that is unordered with it.
    racing_earlier: Option<usize>,
}

/// A read that some write precedes, and a write that is unordered with it.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Index of the read.
    pub read: usize,
    /// Index of the write.
    pub write: usize,
    /// Whether a write of what both share happens before both (R05), or not (R03).
    pub is_overwrite: bool,
}

/// Some accesses as lanes, and the order of all tasks around theirs.
struct Batch<'b> {
    around: &'b Around<'b, 'b>,
    /// The first lane.
    base: usize,
    /// In task-list order.
    chosen: &'b [usize],
}

impl Batch<'_> {
    /// The lanes of these accesses, of which there may be others.
    fn lanes(&self, accesses: &[usize]) -> Bits {
        let mut bits = Bits::default();
        for (lane, index) in self.chosen.iter().enumerate() {
            if accesses.binary_search(index).is_ok() {
                lanes::set(&mut bits, self.base + lane);
            }
        }
        bits
    }

    /// The lanes of the tasks from this one on.
    fn from(&self, exact: &Exact<'_>, task: TaskId) -> Bits {
        let first = self.chosen.partition_point(|&index| exact.accesses[index].task < task);
        lanes::from(self.base + first)
    }

    /// The lanes of the tasks behind this one.
    fn behind(&self, exact: &Exact<'_>, task: TaskId) -> Bits {
        let first = self.chosen.partition_point(|&index| exact.accesses[index].task <= task);
        lanes::from(self.base + first)
    }
}

/// How the lanes lie to one write: those that overlap it and belong to other tasks.
struct Lying {
    before: Bits,
    after: Bits,
    unordered: Bits,
}

impl<'o> Exact<'o> {
    /// The accesses of a buffer.
    pub fn new(
        buffer: BufferId,
        accesses: Vec<Access>,
        suspects: &Suspects,
        relations: Relations<'o>,
    ) -> Exact<'o> {
        let mut cut = [false; MAX_RANK];
        for pair in accesses.windows(2) {
            for (axis, cut) in cut.iter_mut().enumerate() {
                *cut |= pair[0].region.axes()[axis] != pair[1].region.axes()[axis];
            }
        }
        let is_named = !suspects.unordered.is_empty() || !suspects.unwritten.is_empty();
        // Both of a pair: which one breaks a rule depends on what they do, and on their places in the list.
        let first: BTreeSet<TaskId> = suspects.unordered.iter().flatten().copied().collect();
        let is_judged = |access: &Access| {
            accesses.len() <= JUDGE_ALL
                || !is_named
                || first.contains(&access.task)
                || access.kind == AccessKind::Read && suspects.unwritten.contains(&access.task)
        };
        let judged = (0..accesses.len()).filter(|&i| is_judged(&accesses[i])).collect();
        let (facts, last_before) = (vec![Facts::default(); accesses.len()], vec![None; accesses.len()]);
        let mut exact = Exact { buffer, facts, last_before, accesses, relations, judged, cut };
        exact.find_facts();
        exact
    }

    /// The reads to judge, by index.
    pub fn reads(&self) -> impl Iterator<Item = usize> + '_ {
        self.of_kind(AccessKind::Read)
    }

    /// The writes to judge, by index.
    pub fn writes(&self) -> impl Iterator<Item = usize> + '_ {
        self.of_kind(AccessKind::Write)
    }

    fn of_kind(&self, kind: AccessKind) -> impl Iterator<Item = usize> + '_ {
        self.judged.iter().copied().filter(move |&i| self.accesses[i].kind == kind)
    }

    /// Whether some overlapping write happens before the read.
    pub fn is_produced(&self, read: usize) -> bool {
        self.facts[read].is_produced
    }

    /// The first overlapping write by another task that is unordered with this access.
    pub fn racing(&self, access: usize) -> Option<usize> {
        self.facts[access].racing
    }

    /// The first overlapping write by a task that is listed earlier, and unordered with this write.
    pub fn racing_earlier(&self, write: usize) -> Option<usize> {
        self.facts[write].racing_earlier
    }

    /// What two accesses share.
    pub fn shared(&self, i: usize, j: usize) -> Region {
        self.accesses[i].region.intersection(&self.accesses[j].region)
    }

    /// Calls `visit` with these accesses as lanes, some hundred at a time.
    fn batches(&self, chosen: &[usize], visit: &mut dyn FnMut(&Batch<'_>)) {
        match &self.relations {
            Relations::Known(around, base) => {
                let all: Vec<usize> = (0..self.accesses.len()).collect();
                visit(&Batch { around, base: *base, chosen: &all });
            }
            Relations::Computed(order) => {
                let positions = order.positions(self.accesses.iter().map(|access| access.task));
                for chosen in chosen.chunks(LANES) {
                    let tasks: Vec<TaskId> = chosen.iter().map(|&i| self.accesses[i].task).collect();
                    let around = Around::new(order, &tasks, positions.clone());
                    visit(&Batch { around: &around, base: 0, chosen });
                }
            }
        }
    }

    /// Calls `visit` with each write, and how the lanes lie to it.
    fn compare(&self, batch: &Batch<'_>, visit: &mut dyn FnMut(usize, &Lying)) {
        let boxes: Vec<Region> = batch.chosen.iter().map(|&i| self.accesses[i].region).collect();
        let boxes = Lanes::new(&boxes, batch.base, self.cut);
        for (index, access) in self.accesses.iter().enumerate() {
            if access.kind != AccessKind::Write {
                continue;
            }
            let others = lanes::without(batch.from(self, access.task), &batch.behind(self, access.task));
            let overlapping = lanes::without(boxes.overlapping(&access.region), &others);
            if lanes::is_empty(&overlapping) {
                continue;
            }
            let before = lanes::both(overlapping, &batch.around.before(access.task));
            let after = lanes::both(overlapping, &batch.around.after(access.task));
            let unordered = lanes::without(lanes::without(overlapping, &before), &after);
            visit(index, &Lying { before, after, unordered });
        }
    }

    fn find_facts(&mut self) {
        let mut facts = std::mem::take(&mut self.facts);
        let mut last_before = std::mem::take(&mut self.last_before);
        self.batches(&self.judged, &mut |batch| {
            // Most pairs say what others have said before: a lane is looked at once for each fact.
            let [mut produced, mut overtaken, mut racing, mut racing_earlier] = [Bits::default(); 4];
            self.compare(batch, &mut |write, lying| {
                let mut each = |seen: &mut Bits, bits: Bits, fact: fn(&mut Facts, usize)| {
                    for lane in lanes::each(lanes::without(bits, seen)) {
                        fact(&mut facts[batch.chosen[lane - batch.base]], write);
                    }
                    lanes::add(seen, &bits);
                };
                each(&mut produced, lying.after, |facts, _| facts.is_produced = true);
                each(&mut overtaken, lying.before, |facts, _| facts.is_overtaken = true);
                each(&mut racing, lying.unordered, |facts, write| facts.racing = Some(write));
                let later = batch.from(self, self.accesses[write].task);
                let later = lanes::both(lying.unordered, &later);
                each(&mut racing_earlier, later, |facts, write| facts.racing_earlier = Some(write));
                if let Some(lane) = lanes::last(&lying.before) {
                    last_before[write] = Some(batch.chosen[lane - batch.base]);
                }
            });
        });
        (self.facts, self.last_before) = (facts, last_before);
    }

    /// Reads that a write precedes with writes that are unordered with them, by the read: all pairs of a buffer with few
    /// accesses, and the first of one with many.
    pub fn pairs(&self) -> Vec<Pair> {
        let racing = |&read: &usize| self.facts[read].is_produced && self.facts[read].racing.is_some();
        let reads: Vec<usize> = self.reads().filter(racing).take(READS).collect();
        let mut pairs = Vec::new();
        if reads.is_empty() {
            return pairs;
        }
        self.batches(&reads, &mut |batch| {
            let mut open = batch.lanes(&reads);
            let mut counts = vec![0; batch.chosen.len()];
            self.compare(batch, &mut |write, lying| {
                for lane in lanes::each(lanes::both(lying.unordered, &open)) {
                    let count = &mut counts[lane - batch.base];
                    *count += 1;
                    if *count == WRITES {
                        lanes::clear(&mut open, lane);
                    }
                    let read = batch.chosen[lane - batch.base];
                    pairs.push(Pair { read, write, is_overwrite: false });
                }
            });
        });
        pairs.sort_unstable_by_key(|pair| (pair.read, pair.write));
        let mut chosen = BTreeSet::new();
        let kept = pairs.iter().take_while(|pair| {
            chosen.extend([pair.read, pair.write]);
            chosen.len() <= CHOSEN
        });
        pairs.truncate(kept.count());
        // Of each access in a pair, the overlapping writes before it. Boxes of which any two overlap have an element in
        // common, all of them: so a write before both that overlaps both is one of what they share.
        let chosen: Vec<usize> = chosen.into_iter().collect();
        let mut before = vec![vec![0u64; self.accesses.len().div_ceil(64)]; chosen.len()];
        self.batches(&chosen, &mut |batch| {
            let places: Vec<Option<usize>> =
                batch.chosen.iter().map(|index| chosen.binary_search(index).ok()).collect();
            self.compare(batch, &mut |write, lying| {
                for place in lanes::each(lying.after).filter_map(|lane| places[lane - batch.base]) {
                    before[place][write / 64] |= 1 << (write % 64);
                }
            });
        });
        for pair in &mut pairs {
            let rows = [pair.read, pair.write].map(|index| chosen.binary_search(&index).unwrap_or_default());
            let [read, write] = rows.map(|place| &before[place]);
            pair.is_overwrite = read.iter().zip(write).any(|(read, write)| read & write != 0);
        }
        pairs
    }
}
