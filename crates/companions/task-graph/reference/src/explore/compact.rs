//! A small system in bit sets.

use std::fmt;

use super::machine::Machine;
use super::setup::{Access, Part, Setup, Work};

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
    /// Behind these, what the mates of a collective need.
    pub(super) needs: Vec<Vec<Need>>,
    /// For each instance, the others of its team on its rank.
    pub(super) rivals: Vec<Instances>,
    /// For each iteration: the ends of all ranks.
    pub(super) ends: Vec<Vec<Need>>,
    /// For each instance.
    pub(super) reads: Vec<Cells>,
    pub(super) writes: Vec<Cells>,
    /// Of these, what is added to.
    pub(super) adds: Vec<Cells>,
    /// Of these, what is in the memory of the own rank.
    pub(super) own_writes: Vec<Cells>,
    /// Of these, what is wanted: all but start values.
    pub(super) values: Vec<Cells>,
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
            for (task, &[reads, writes, adds, own, values]) in setup.tasks.iter().zip(&cells) {
                let starts = |task: &Work| {
                    let event = task.dependent.map_or(Need::default(), |event| need(event, iteration));
                    let begin = match (iteration.checked_sub(1), setup.ends.get(task.rank)) {
                        (Some(before), Some(&end)) => need(end, before),
                        _ => Need::default(),
                    };
                    [event, begin]
                };
                let mut needs = starts(task).to_vec();
                needs.extend(task.mates.iter().filter_map(|&mate| setup.tasks.get(mate)).flat_map(starts));
                needs.extend(task.is_stranded.then_some(Need { of: 0, count: i64::MAX }));
                compact.needs.push(needs);
                // On one rank alone, a collective has no mates that another could meet.
                let is_rival = |other: &Work| {
                    setup.ends.len() > 1
                        && task.team.is_some()
                        && (other.rank, other.team) == (task.rank, task.team)
                };
                let rivals = (0..instances).filter(|i| setup.tasks.get(i % tasks).is_some_and(is_rival));
                compact.rivals.push(rivals.fold(0, |set: Instances, i| set | 1 << i));
                compact.reads.push(reads);
                compact.writes.push(writes);
                compact.adds.push(adds);
                compact.own_writes.push(own);
                compact.values.push(values);
                compact.ranks.push(task.rank);
            }
        }
        let mut machine = Machine::new(setup, iterations);
        let stuck = machine.run_queues();
        compact.queues = !stuck.is_empty() || !machine.all_ended(iterations.saturating_sub(1));
        Ok(compact)
    }
}

/// For each task, what it reads, writes, of that adds to, and writes in its own rank's memory, and of that what is more
/// than a start value; the storages are cut wherever some
/// tile begins or ends, and there is a copy of each for everything that tasks select, and for what none does.
fn cells(setup: &Setup) -> Result<Vec<[Cells; 5]>, TooLarge> {
    let mut parts: Vec<Vec<Part>> = vec![Vec::new(); setup.storages.len()];
    let mut cuts: Vec<(usize, i128)> = Vec::new();
    for access in setup.tasks.iter().flat_map(|task| &task.accesses) {
        let spans = access.spans();
        cuts.extend(
            spans.0.iter().flat_map(|&(start, end)| [(access.storage, start), (access.storage, end)]),
        );
        if let Some(parts) = parts.get_mut(access.storage) {
            parts.extend(&access.parts);
        }
    }
    cuts.sort_unstable();
    cuts.dedup();
    let layers: Vec<Vec<Vec<Part>>> = parts.into_iter().map(layers).collect();
    let most = layers.iter().map(Vec::len).max().unwrap_or(1);
    if cuts.len().saturating_mul(most) > MAX_CELLS {
        return Err(TooLarge);
    }
    let of = |accesses: &[Access], wanted: &dyn Fn(&Access) -> bool| {
        let mut set: Cells = 0;
        for access in accesses.iter().filter(|access| wanted(access)) {
            let layers = layers.get(access.storage).map(Vec::as_slice).unwrap_or_default();
            let meets = |layer: &[Part]| access.parts.iter().all(|part| layer.contains(part));
            for (number, _) in layers.iter().enumerate().filter(|(_, layer)| meets(layer)) {
                for (start, end) in access.spans().0 {
                    // The cell of a cut reaches to the next one.
                    let first = cuts.partition_point(|&cut| cut < (access.storage, start));
                    let last = cuts.partition_point(|&cut| cut < (access.storage, end));
                    set = (first..last).fold(set, |set, cell| set | 1 << (cell + number * cuts.len()));
                }
            }
        }
        set
    };
    let of_task = |task: &Work| {
        let own = |access: &Access| setup.storages.get(access.storage).is_some_and(|s| s.0 == task.rank);
        [
            of(&task.accesses, &|access| !access.writes),
            of(&task.accesses, &|access| access.writes),
            of(&task.accesses, &|access| access.adds),
            of(&task.accesses, &|access| access.writes && !access.adds && own(access)),
            of(&task.accesses, &|access| access.writes && !access.adds && !access.resets && own(access)),
        ]
    };
    Ok(setup.tasks.iter().map(of_task).collect())
}

/// Every way to choose, by each selection that there is, one of the parts that are selected, or another one.
fn layers(mut parts: Vec<Part>) -> Vec<Vec<Part>> {
    parts.sort_unstable();
    parts.dedup();
    let mut layers: Vec<Vec<Part>> = vec![Vec::new()];
    for of_one in parts.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        let with = |layer: &Vec<Part>| {
            let other = std::iter::once(layer.clone());
            let each = of_one.iter().map(|&part| [layer.clone(), vec![part]].concat());
            other.chain(each).collect::<Vec<_>>()
        };
        layers = layers.iter().flat_map(with).collect();
    }
    layers
}

impl Compact {
    /// Whether a task can start by itself, whether or not its mates can.
    pub(super) fn can_start(&self, instance: usize, finished: Instances) -> bool {
        let own = self.needs.get(instance).map(|needs| needs.iter().take(2));
        own.is_some_and(|mut own| own.all(|need| need.is_met(finished)))
    }
}

#[cfg(test)]
impl Compact {
    /// Whom a task acquires from that starts in a state: all that have triggered its event, or the end before.
    pub(super) fn acquired(&self, instance: usize, finished: Instances) -> Instances {
        self.needs[instance].iter().fold(0, |set, need| set | need.of & finished)
    }
}
