//! A small system in bit sets.

use std::fmt;

use super::machine::Machine;
use super::setup::{Access, Setup, Work};

/// How many iterations are explored. If anything goes wrong between iterations, something does between one and the next: a path
/// from one to the other leaves an iteration by the end of one rank, and reaches every later one by the same.
pub const ITERATIONS: usize = 2;
/// The most tasks, counted once for each iteration.
pub const MAX_INSTANCES: usize = 32;
/// The most elements, or runs of elements that no tile cuts.
const MAX_CELLS: usize = 128;

/// A set of instances.
pub type Instances = u32;
/// A set of cells.
pub(super) type Cells = u128;

/// A count that has to be reached: of finished instances among these.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Need {
    of: Instances,
    count: i64,
}

impl Need {
    pub(super) fn is_met(self, finished: Instances) -> bool {
        i64::from((finished & self.of).count_ones()) >= self.count
    }
}

/// A system in bit sets.
#[derive(Clone, Debug, Default)]
pub struct Compact {
    pub(super) tasks: usize,
    pub(super) instances: usize,
    /// For each instance: its event, and the end of the iteration before.
    pub(super) needs: Vec<[Need; 2]>,
    /// For each iteration: the ends of all ranks.
    pub(super) ends: Vec<Vec<Need>>,
    /// For each instance.
    pub(super) reads: Vec<Cells>,
    pub(super) writes: Vec<Cells>,
    /// Of these, what is in the memory of the own rank.
    pub(super) own_writes: Vec<Cells>,
    pub(super) ranks: Vec<usize>,
    pub(super) queues: bool,
}

/// The system has too many tasks or cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found more than {MAX_INSTANCES} tasks in two iterations, or {MAX_CELLS} cells")
    }
}

impl std::error::Error for TooLarge {}

impl Compact {
    /// The bit sets of a system, over so many iterations.
    ///
    /// # Errors
    /// It is too large.
    pub fn new(setup: &Setup, iterations: usize) -> Result<Compact, TooLarge> {
        let tasks = setup.tasks.len();
        let instances = tasks * iterations;
        if instances > MAX_INSTANCES {
            return Err(TooLarge);
        }
        let triggers = |event: usize| {
            let all = (0..instances)
                .filter(|i| setup.tasks.get(i % tasks).is_some_and(|t| t.trigger == Some(event)));
            all.fold(0, |set: Instances, i| set | 1 << i)
        };
        let need = |event: usize, iteration: usize| {
            let threshold = setup.events.get(event).map_or(0, |event| event.threshold);
            Need { of: triggers(event), count: threshold.saturating_mul(iteration as i64 + 1) }
        };
        let mut compact = Compact { tasks, instances, ..Compact::default() };
        let cells = cells(setup)?;
        for iteration in 0..iterations {
            compact.ends.push(setup.ends.iter().map(|&end| need(end, iteration)).collect());
            for (task, &[reads, writes, own]) in setup.tasks.iter().zip(&cells) {
                let event = task.dependent.map_or(Need::default(), |event| need(event, iteration));
                let begin = match (iteration.checked_sub(1), setup.ends.get(task.rank)) {
                    (Some(before), Some(&end)) => need(end, before),
                    _ => Need::default(),
                };
                compact.needs.push([event, begin]);
                compact.reads.push(reads);
                compact.writes.push(writes);
                compact.own_writes.push(own);
                compact.ranks.push(task.rank);
            }
        }
        let mut machine = Machine::new(setup, iterations);
        let stuck = machine.run_queues();
        compact.queues = !stuck.is_empty() || !machine.all_ended(iterations.saturating_sub(1));
        Ok(compact)
    }
}

/// For each task, what it reads, writes, and writes in its own rank's memory; the storages are cut wherever some tile
/// begins or ends.
fn cells(setup: &Setup) -> Result<Vec<[Cells; 3]>, TooLarge> {
    let mut cuts: Vec<(usize, i128)> = Vec::new();
    for access in setup.tasks.iter().flat_map(|task| &task.accesses) {
        let spans = access.spans();
        cuts.extend(
            spans.0.iter().flat_map(|&(start, end)| [(access.storage, start), (access.storage, end)]),
        );
    }
    cuts.sort_unstable();
    cuts.dedup();
    if cuts.len() > MAX_CELLS {
        return Err(TooLarge);
    }
    let of = |accesses: &[Access], wanted: &dyn Fn(&Access) -> bool| {
        let mut set: Cells = 0;
        for access in accesses.iter().filter(|access| wanted(access)) {
            for (start, end) in access.spans().0 {
                // The cell of a cut reaches to the next one.
                let first = cuts.partition_point(|&cut| cut < (access.storage, start));
                let last = cuts.partition_point(|&cut| cut < (access.storage, end));
                set = (first..last).fold(set, |set, cell| set | 1 << cell);
            }
        }
        set
    };
    let of_task = |task: &Work| {
        let own = |access: &Access| setup.storages.get(access.storage).is_some_and(|s| s.0 == task.rank);
        [
            of(&task.accesses, &|access| !access.writes),
            of(&task.accesses, &|access| access.writes),
            of(&task.accesses, &|access| access.writes && own(access)),
        ]
    };
    Ok(setup.tasks.iter().map(of_task).collect())
}

#[cfg(test)]
impl Compact {
    /// Whom a task acquires from that starts in a state: all that have triggered its event, or the end before.
    pub(super) fn acquired(&self, instance: usize, finished: Instances) -> Instances {
        self.needs[instance].iter().fold(0, |set, need| set | need.of & finished)
    }
}
