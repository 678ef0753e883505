//! Finding the buffers on which some access may be out of order, in near-linear time.
//!
//! The accesses of a buffer are walked in an order that agrees with happens-before. Each element remembers its last
//! writer and the readers since. A reader has to come after that writer, a writer after that writer and those readers;
//! all earlier accesses of the element are then ordered by transitivity. So a buffer is free of races exactly if all
//! these neighbours are ordered, and their number, unlike that of all pairs, is near-linear.
//!
//! Elements that no access tells apart are one cell: the extents of every axis are cut where some access begins or
//! ends, and the cells are the boxes between the cuts.

use std::collections::{BTreeSet, HashSet};

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::{CounterId, TaskId};
use megakernel_order::happens_before::{HappensBefore, Question};

use crate::region::{MAX_RANK, Region};
use crate::validate::accesses::Access;

/// What the rules demand of a buffer's contents at launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Undefined: a read needs a write before it.
    Undefined,
    /// Of the earlier launches: a read needs none, but must not be overtaken by a write (R06).
    Persistent,
}

/// A grid may have this many cells for each access, and accesses may meet as many of them. Where boxes cut each other into more,
/// looking at all pairs is cheaper, up to the most that is looked at in any case.
const CELLS_PER_ACCESS: usize = 64;
const MOST_VISITS: usize = 1 << 24;

/// Hands the neighbours among the accesses of one buffer to `ask`, leaving out those that are plainly ordered; the
/// buffer is free of races exactly if all of them are. Gives back the tasks that break a rule without a question: a read
/// is not preceded by writes of all its elements, or a write follows a read of what earlier launches left. Sorts the
/// accesses along happens-before. Gives back nothing, and asks nothing, where the boxes cut each other into too many cells.
pub fn neighbours(
    accesses: &mut [Access],
    contents: Contents,
    order: &HappensBefore<'_>,
    ask: &mut dyn FnMut(Question),
) -> Option<BTreeSet<TaskId>> {
    // List order mostly agrees with happens-before already.
    let key = |access: &Access| (order.rank(access.task), access.task, access.kind);
    if !accesses.is_sorted_by_key(key) {
        accesses.sort_by_cached_key(key);
    }
    let mut writes = accesses.iter().filter(|access| access.kind == AccessKind::Write);
    // Where one region holds all others and no other write is there, cells would change nothing.
    let alike = match (writes.next(), writes.next()) {
        (None, _) => true,
        (Some(write), None) => {
            accesses.iter().all(|access| access.region.intersection(&write.region) == access.region)
        }
        _ => accesses.windows(2).all(|pair| pair[0].region == pair[1].region),
    };
    let grid = if alike { Grid::single() } else { Grid::new(accesses)? };
    Some(walk(accesses, contents, order, &grid, ask))
}

/// The cuts of every axis.
struct Grid {
    cuts: [Vec<i64>; MAX_RANK],
}

impl Grid {
    fn single() -> Grid {
        Grid { cuts: [const { Vec::new() }; MAX_RANK] }
    }

    /// The grid of these accesses, unless it has too many cells.
    fn new(accesses: &[Access]) -> Option<Grid> {
        let mut cuts = [const { Vec::new() }; MAX_RANK];
        for access in accesses {
            for (cuts, axis) in cuts.iter_mut().zip(access.region.axes()) {
                if !cuts.ends_with(axis) {
                    cuts.extend(axis);
                }
            }
        }
        for cuts in &mut cuts {
            cuts.sort_unstable();
            cuts.dedup();
        }
        let grid = Grid { cuts };
        let bound = CELLS_PER_ACCESS.saturating_mul(accesses.len());
        let most = bound + (accesses.len().saturating_mul(accesses.len()) / 32).min(MOST_VISITS);
        let fits = grid.cells().is_some_and(|cells| {
            cells <= bound && (cells.saturating_mul(accesses.len()) <= most || grid.visits(accesses) <= most)
        });
        fits.then_some(grid)
    }

    fn extent(&self, axis: usize) -> usize {
        self.cuts[axis].len().saturating_sub(1).max(1)
    }

    fn cells(&self) -> Option<usize> {
        (0..MAX_RANK).try_fold(1usize, |product, axis| product.checked_mul(self.extent(axis)))
    }

    /// How many cells the accesses meet, all together.
    fn visits(&self, accesses: &[Access]) -> usize {
        let cells =
            |access: &Access| self.spans(&access.region).iter().map(|(low, high)| high - low).product();
        accesses.iter().map(cells).fold(0usize, usize::saturating_add)
    }

    /// The cells of a region, as an interval of each axis.
    fn spans(&self, region: &Region) -> [(usize, usize); MAX_RANK] {
        let mut spans = [(0, 1); MAX_RANK];
        for (axis, span) in spans.iter_mut().enumerate() {
            let cuts = &self.cuts[axis];
            if cuts.len() > 2 {
                let [low, high] = region.axes()[axis];
                *span = (cuts.partition_point(|&cut| cut < low), cuts.partition_point(|&cut| cut < high));
            }
        }
        spans
    }

    /// Calls `visit` with the index of every cell of a region.
    fn each(&self, region: &Region, mut visit: impl FnMut(usize)) {
        let [first, second, third, fourth] = self.spans(region);
        for i in first.0..first.1 {
            for j in second.0..second.1 {
                for k in third.0..third.1 {
                    let row = ((i * self.extent(1) + j) * self.extent(2) + k) * self.extent(3);
                    (fourth.0..fourth.1).for_each(|l| visit(row + l));
                }
            }
        }
    }
}

#[derive(Clone, Default)]
struct Cell {
    writer: Option<TaskId>,
    /// Two readers per counter: for those who come after, readers of one counter are alike, and of two at least one
    /// is another task than the writer that asks.
    readers: Vec<TaskId>,
    /// The task that read what earlier launches left and replaced it in place. Its own write does not supply its read
    /// (EXE-10), so the next writer overtakes that read like any other.
    replaced: Option<TaskId>,
}

fn walk(
    accesses: &[Access],
    contents: Contents,
    order: &HappensBefore<'_>,
    grid: &Grid,
    ask: &mut dyn FnMut(Question),
) -> BTreeSet<TaskId> {
    let mut cells = vec![Cell::default(); grid.cells().unwrap_or(1)];
    let mut suspects = BTreeSet::new();
    let graph = order.graph();
    for access in accesses {
        let task = access.task;
        let mut asked = Asked::default();
        let mut after = |earlier: TaskId| {
            if earlier != task && asked.insert(graph.out(earlier)) {
                let question = Question { earlier, later: task };
                if order.quick(question) != Some(true) {
                    ask(question);
                }
            }
        };
        grid.each(&access.region, |index| {
            let cell = &mut cells[index];
            match access.kind {
                AccessKind::Read => {
                    match cell.writer {
                        Some(writer) => after(writer),
                        None if contents == Contents::Undefined => {
                            suspects.insert(task);
                        }
                        None => {}
                    }
                    let counter = graph.out(task);
                    let alike =
                        cell.readers.iter().rev().take(8).filter(|&&reader| graph.out(reader) == counter);
                    if alike.count() < 2 {
                        cell.readers.push(task);
                    }
                }
                AccessKind::Write => {
                    if let Some(writer) = cell.writer {
                        after(writer);
                    }
                    cell.readers.iter().for_each(|&reader| after(reader));
                    // A read of what earlier launches left, overtaken by a write of this one.
                    if contents == Contents::Persistent {
                        suspects.extend(cell.replaced.take().filter(|&reader| reader != task));
                        if cell.writer.is_none() {
                            suspects.extend(cell.readers.iter().copied().filter(|&reader| reader != task));
                            cell.replaced = cell.readers.contains(&task).then_some(task);
                        }
                    }
                    cell.readers.clear();
                    cell.writer = Some(task);
                }
            }
        });
    }
    suspects
}

/// The counters that one access has asked about; a question about a counter is worth asking once.
#[derive(Default)]
struct Asked {
    recent: smallvec::SmallVec<[CounterId; 8]>,
    many: HashSet<CounterId>,
}

impl Asked {
    fn insert(&mut self, counter: CounterId) -> bool {
        if self.recent.contains(&counter) || self.many.contains(&counter) {
            return false;
        }
        if self.recent.len() < 8 {
            self.recent.push(counter);
            return true;
        }
        self.many.insert(counter)
    }
}
