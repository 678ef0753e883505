//! Finding the storages on which some accesses may be unordered, and writes that nobody reads, in near-linear time.
//!
//! As in the validator of programs: the accesses are walked in an order that agrees with happens-before, each element
//! remembers its last writer and the readers since, and only such neighbours are compared. Elements that no access tells
//! apart are one cell.

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::{CounterId, TaskId};
use megakernel_order::happens_before::{HappensBefore, Question};
use smallvec::SmallVec;

use crate::validate::area::{Area, intersection, overlap};
use crate::validate::race::Accessed;
use crate::validate::storage::{Access, Use};
use crate::validate::world::World;

/// Beyond this many cells for each access, pairs of accesses are cheaper than cells.
const CELLS_PER_ACCESS: usize = 64;

/// A write of elements that the next write overwrites without any of them having been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dead {
    /// The write.
    pub write: Use,
    /// The next one.
    pub next: Use,
}

/// Hands the neighbours among the accesses of one storage to `ask`, leaving out those that are plainly ordered; the
/// storage is free of races exactly if all of them are. Gives back the dead writes, provided that it is. Sorts the
/// accesses along happens-before.
pub fn neighbours(
    world: &World<'_, '_, '_>,
    of: &mut Accessed<'_, '_>,
    order: &HappensBefore<'_>,
    ask: &mut dyn FnMut(Question),
) -> Vec<Dead> {
    sort(&mut of.accesses, order);
    let rank = of.storage.rank;
    let is_local = |access: &Access| world.rank(access.of.task) == rank;
    match Grid::new(&of.accesses) {
        Some(grid) => cells(&of.accesses, &grid, is_local, order, ask),
        None => pairs(&of.accesses, is_local, order, ask),
    }
}

/// Sorts accesses so that if one happens before another, it comes first; a task reads before it writes.
pub fn sort(accesses: &mut [Access], order: &HappensBefore<'_>) {
    let key = |access: &Access| (order.rank(access.of.task), access.of.task, access.kind);
    if !accesses.is_sorted_by_key(key) {
        accesses.sort_by_cached_key(key);
    }
}

/// The cuts of every axis.
struct Grid {
    cuts: SmallVec<[Vec<u64>; 4]>,
    /// Cells to go on by for one step along each axis.
    steps: SmallVec<[usize; 4]>,
    cells: usize,
}

impl Grid {
    /// The grid of these accesses, unless it has too many cells.
    fn new(accesses: &[Access]) -> Option<Grid> {
        let axes = accesses.first().map_or(0, |access| access.area.len());
        let mut cuts: SmallVec<[Vec<u64>; 4]> = (0..axes).map(|_| Vec::new()).collect();
        let mut last: Option<&Area> = None;
        for access in accesses {
            if last == Some(&access.area) {
                continue;
            }
            last = Some(&access.area);
            for (cuts, interval) in cuts.iter_mut().zip(&access.area) {
                if !cuts.ends_with(interval) {
                    cuts.extend(interval);
                }
            }
        }
        let mut steps: SmallVec<[usize; 4]> = SmallVec::new();
        let mut cells = 1usize;
        for cuts in &mut cuts {
            cuts.sort_unstable();
            cuts.dedup();
            steps.push(cells);
            cells = cells.checked_mul(cuts.len().saturating_sub(1).max(1))?;
        }
        (cells <= CELLS_PER_ACCESS.saturating_mul(accesses.len())).then_some(Grid { cuts, steps, cells })
    }

    /// The cells of an area, appended to `cells`.
    fn collect(&self, area: &Area, cells: &mut Vec<usize>) {
        cells.clear();
        cells.push(0);
        for ((interval, cuts), &step) in area.iter().zip(&self.cuts).zip(&self.steps) {
            if cuts.len() <= 2 {
                continue;
            }
            let [low, high] = interval.map(|at| cuts.partition_point(|&cut| cut < at));
            let before = cells.len();
            for index in low + 1..high {
                for cell in 0..before {
                    cells.push(cells[cell] + index * step);
                }
            }
            cells[..before].iter_mut().for_each(|cell| *cell += low * step);
        }
    }
}

#[derive(Clone, Default)]
struct Cell {
    /// The writes of the last task that has written, by their places in the walk.
    writers: SmallVec<[u32; 2]>,
    /// Whether anybody has read since.
    is_read: bool,
    /// Two readers for each event: for those who come after, tasks that trigger one event are alike, and of two at least
    /// one is another task than the writer that asks.
    readers: SmallVec<[TaskId; 4]>,
    /// Likewise those that have added since the last write.
    adding: SmallVec<[TaskId; 4]>,
}

fn cells(
    accesses: &[Access],
    grid: &Grid,
    is_local: impl Fn(&Access) -> bool,
    order: &HappensBefore<'_>,
    ask: &mut dyn FnMut(Question),
) -> Vec<Dead> {
    let out = |task: TaskId| order.graph().out(task);
    let mut cells = vec![Cell::default(); grid.cells];
    let (mut visited, mut found) = (Vec::new(), Vec::new());
    let mut overwritten: Vec<(u32, bool)> = Vec::new();
    for (index, access) in accesses.iter().enumerate() {
        let task = access.of.task;
        let mut asked = Asked::default();
        let mut after = |earlier: TaskId| {
            if earlier != task && asked.insert(out(earlier)) {
                let question = Question { earlier, later: task };
                if order.quick(question) != Some(true) {
                    ask(question);
                }
            }
        };
        grid.collect(&access.area, &mut visited);
        for &cell in &visited {
            let cell = &mut cells[cell];
            let writer = cell.writers.first().map(|&writer| accesses[writer as usize].of.task);
            writer.into_iter().for_each(&mut after);
            let event = out(task);
            let remember = |tasks: &mut SmallVec<[TaskId; 4]>| {
                let recent = tasks.iter().rev().take(8);
                if recent.filter(|&&other| out(other) == event).count() < 2 {
                    tasks.push(task);
                }
            };
            match access.kind {
                AccessKind::Read => {
                    cell.adding.iter().for_each(|&adding| after(adding));
                    cell.is_read = true;
                    remember(&mut cell.readers);
                }
                AccessKind::Write if access.adds => {
                    // Each goes on from what the others have left, and may come before any of those that read.
                    cell.readers.iter().for_each(|&reader| after(reader));
                    cell.is_read = true;
                    remember(&mut cell.adding);
                }
                AccessKind::Write => {
                    cell.readers.iter().chain(&cell.adding).for_each(|&earlier| after(earlier));
                    cell.readers.clear();
                    cell.adding.clear();
                    if writer != Some(task) {
                        for &writer in &cell.writers {
                            match overwritten.iter_mut().find(|(other, _)| *other == writer) {
                                Some((_, any_read)) => *any_read |= cell.is_read,
                                None => overwritten.push((writer, cell.is_read)),
                            }
                        }
                        cell.writers.clear();
                        cell.is_read = false;
                    }
                    cell.writers.push(index as u32);
                }
            }
        }
        // What the task writes with its other tiles counts too.
        if accesses.get(index + 1).is_none_or(|next| next.of.task != task) {
            for (writer, any_read) in overwritten.drain(..) {
                let writer = &accesses[writer as usize];
                if !any_read && is_local(writer) && is_local(access) {
                    found.push(Dead { write: writer.of, next: access.of });
                }
            }
        }
    }
    found
}

/// The events that one access has asked about; a question about an event is worth asking once.
#[derive(Default)]
struct Asked {
    recent: SmallVec<[CounterId; 8]>,
    many: std::collections::HashSet<CounterId>,
}

impl Asked {
    fn insert(&mut self, event: CounterId) -> bool {
        if self.recent.contains(&event) {
            return false;
        }
        if self.recent.len() < 8 {
            self.recent.push(event);
            return true;
        }
        self.many.insert(event)
    }
}

/// The fallback for areas that cut each other into too many cells: every pair.
fn pairs(
    accesses: &[Access],
    is_local: impl Fn(&Access) -> bool,
    order: &HappensBefore<'_>,
    ask: &mut dyn FnMut(Question),
) -> Vec<Dead> {
    let mut found = Vec::new();
    for (index, access) in accesses.iter().enumerate() {
        for earlier in &accesses[..index] {
            if earlier.conflicts(access)
                && earlier.of.task != access.of.task
                && overlap(&earlier.area, &access.area)
            {
                let question = Question { earlier: earlier.of.task, later: access.of.task };
                if order.quick(question) != Some(true) {
                    ask(question);
                }
            }
        }
        if access.kind == AccessKind::Write && !access.adds && is_local(access) {
            let next = overwritten(access, &accesses[index + 1..]);
            found.extend(
                next.into_iter()
                    .filter(|next| is_local(next))
                    .map(|next| Dead { write: access.of, next: next.of }),
            );
        }
    }
    found
}

/// The last writes of those tasks among `later` that are the next to write some elements of `write`, of which none has been
/// read by then.
fn overwritten<'x>(write: &Access, later: &'x [Access]) -> Vec<&'x Access> {
    let mut left = vec![write.area.clone()];
    let (mut reads, mut found) = (Vec::<&Access>::new(), Vec::new());
    for of_task in later.chunk_by(|one, next| one.of.task == next.of.task) {
        if of_task.iter().any(|access| access.of.task == write.of.task) {
            continue;
        }
        reads.extend(of_task.iter().filter(|access| access.kind == AccessKind::Read || access.adds));
        let writes = || of_task.iter().filter(|access| access.kind == AccessKind::Write);
        let shared: Vec<Area> = writes()
            .flat_map(|access| {
                left.iter().filter_map(|part| intersection(part, &access.area)).collect::<Vec<_>>()
            })
            .collect();
        let is_read = shared.iter().any(|part| reads.iter().any(|read| overlap(&read.area, part)));
        if !shared.is_empty() && !is_read {
            found.extend(writes().next_back());
        }
        for access in writes() {
            left = left.iter().flat_map(|part| minus(part, &access.area)).collect();
        }
        if left.is_empty() {
            break;
        }
    }
    found
}

/// The part of an area that is not in another, as disjoint boxes.
pub fn minus(area: &Area, other: &Area) -> Vec<Area> {
    if !overlap(area, other) {
        return vec![area.clone()];
    }
    let (mut rest, mut parts) = (area.clone(), Vec::new());
    for axis in 0..rest.len() {
        let [low, high] = other[axis];
        let [start, end] = rest[axis];
        for (from, to) in [(start, low.min(end)), (high.max(start), end)] {
            if from < to {
                let mut part = rest.clone();
                part[axis] = [from, to];
                parts.push(part);
            }
        }
        rest[axis] = [start.max(low), end.min(high)];
    }
    parts
}
