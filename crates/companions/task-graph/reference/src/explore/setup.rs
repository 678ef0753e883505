//! A system as tables: who triggers what, who waits for what, who accesses what.

use std::collections::HashMap;

use megakernel_task_graph::{EVENT_INVALID, EventId, EventType, System, Task, TaskGraph, Tile};

use super::footprint::{Shape, Spans};

const COPY: i64 = 199;
const REDUCE: i64 = 107;
/// The tasks that write into their inputs 1 and 2, the caches.
const ATTENTION: [i64; 10] = [103, 104, 115, 116, 117, 153, 164, 257, 263, 284];

/// What a task does to a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Index among [`Setup::storages`].
    pub storage: usize,
    /// Otherwise it reads.
    pub writes: bool,
    /// Where.
    pub shape: Shape,
}

/// A work task. Events are indices among [`Setup::events`].
#[derive(Clone, Debug)]
pub struct Work {
    /// The rank that runs it.
    pub rank: usize,
    /// Its id there.
    pub id: usize,
    /// Its type.
    pub kind: i64,
    /// What it waits for.
    pub dependent: Option<usize>,
    /// What it triggers, if that is in the system.
    pub trigger: Option<usize>,
    /// What it accesses.
    pub accesses: Vec<Access>,
}

/// An event of the system.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The rank that owns it.
    pub rank: usize,
    /// Its position there.
    pub position: usize,
    /// Triggers in each iteration, as far as they are awaited from the tasks that are there.
    pub threshold: i64,
}

/// A system without what does not matter to a run.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// The work tasks, rank by rank in ascending order.
    pub tasks: Vec<Work>,
    /// The events, rank by rank.
    pub events: Vec<Waiting>,
    /// For each rank, the event that ends its iterations.
    pub ends: Vec<usize>,
    /// The memory that tiles are in: of which rank, and the name.
    pub storages: Vec<(usize, String)>,
    /// For each rank, how many tasks the ranks before it have, the two reserved ones among them.
    pub first: Vec<usize>,
}

impl Setup {
    /// The tables of a whole system.
    ///
    /// # Errors
    /// The system breaks a rule of its structure: the text says where.
    pub fn new(system: &System<'_>) -> Result<Setup, String> {
        Setup::of(&system.ranks, None)
    }

    /// The tables of one graph of a system that is not there. What other ranks trigger is there whenever it is asked
    /// for.
    ///
    /// # Errors
    /// The graph breaks a rule of its structure: the text says where.
    pub fn bare(graph: &TaskGraph<'_>) -> Result<Setup, String> {
        let begin = graph.all_tasks.get(1).and_then(|task| EventId::from_bits(task.trigger_event));
        let own = begin.ok_or("task 1 triggers no event")?;
        Setup::of(std::slice::from_ref(graph), Some(own.rank))
    }

    fn of(graphs: &[TaskGraph<'_>], bare: Option<u16>) -> Result<Setup, String> {
        let mut setup = Setup::default();
        let mut starts = Vec::new();
        for (rank, graph) in graphs.iter().enumerate() {
            starts.push(setup.events.len());
            let end = graph.all_events.iter().position(|e| e.event_type == EventType::EndOfTaskGraph as i64);
            let end = end.ok_or_else(|| format!("rank {rank} has no event that ends the iteration"))?;
            setup.ends.push(setup.events.len() + end);
            let events = graph.all_events.iter().enumerate();
            setup.events.extend(events.map(|(position, event)| Waiting {
                rank,
                position,
                threshold: event.num_triggers,
            }));
        }
        let rank_of = |id: EventId| match bare {
            Some(own) if own == id.rank => Some(0),
            Some(_) => None,
            None => Some(usize::from(id.rank)),
        };
        let mut names: HashMap<(usize, String), usize> = HashMap::new();
        let (mut first, mut tagged) = (0, vec![false; setup.events.len()]);
        let mut elsewhere = false;
        for (rank, graph) in graphs.iter().enumerate() {
            setup.first.push(first);
            first += graph.all_tasks.len();
            for (id, task) in graph.all_tasks.iter().enumerate().skip(2) {
                let event = |bits: i64| -> Result<Option<usize>, String> {
                    if bits == EVENT_INVALID {
                        return Ok(None);
                    }
                    let wrong =
                        || format!("task {id} of rank {rank} names the event {bits}, which there is not");
                    let named = EventId::from_bits(bits).ok_or_else(wrong)?;
                    let Some(owner) = rank_of(named) else { return Ok(None) };
                    let graph = graphs.get(owner).ok_or_else(wrong)?;
                    let position = named.position as usize;
                    if position < 2 || position >= graph.all_events.len() {
                        return Err(wrong());
                    }
                    Ok(starts.get(owner).map(|start| start + position))
                };
                let (dependent, trigger) = (event(task.dependent_event)?, event(task.trigger_event)?);
                let target = EventId::from_bits(task.trigger_event).map(rank_of);
                elsewhere |= target == Some(None);
                let target = target.flatten();
                let mut accesses = Vec::new();
                let add = |at: usize, writes: bool, tile: &Tile<'_>, shape: Shape| {
                    let next = names.len();
                    let storage = *names.entry((at, tile.base_ptr.to_string())).or_insert(next);
                    accesses.push(Access { storage, writes, shape });
                };
                footprint(task, rank, target, add);
                if let Some(event) = dependent.filter(|_| task.task_type == REDUCE)
                    && let Some(tagged) = tagged.get_mut(event)
                {
                    *tagged = true;
                }
                if let Some(event) = trigger.filter(|_| task.task_type == COPY)
                    && let Some(tagged) = tagged.get_mut(event)
                {
                    *tagged = true;
                }
                setup.tasks.push(Work { rank, id, kind: task.task_type, dependent, trigger, accesses });
            }
        }
        // A graph that triggers no other rank's events is a system of its own.
        if elsewhere {
            for (index, _) in tagged.iter().enumerate().filter(|&(_, &tagged)| tagged) {
                let here = setup.tasks.iter().filter(|task| task.trigger == Some(index)).count() as i64;
                if let Some(event) = setup.events.get_mut(index) {
                    event.threshold = event.threshold.min(here);
                }
            }
        }
        let mut storages: Vec<_> = names.into_iter().collect();
        storages.sort_by_key(|&(_, index)| index);
        setup.storages = storages.into_iter().map(|(name, _)| name).collect();
        Ok(setup)
    }

    /// The index of a task from its number through all ranks, as diagnostics have it.
    pub fn by_number(&self, number: u32) -> Option<usize> {
        let number = number as usize;
        self.tasks
            .iter()
            .position(|task| self.first.get(task.rank).map(|first| first + task.id) == Some(number))
    }

    /// The number of a task through all ranks.
    pub fn number(&self, task: usize) -> u32 {
        let number = self.tasks.get(task).and_then(|task| Some(self.first.get(task.rank)? + task.id));
        number.map_or(u32::MAX, |number| number as u32)
    }

    /// Where two tasks meet, if one of them writes: the accesses, the earlier task's first, and the bits.
    pub fn conflict(&self, first: usize, second: usize) -> Option<(&Access, &Access, (i128, i128))> {
        self.meetings(first, second, |one, other| one.writes || other.writes).next()
    }

    /// Where two tasks meet with accesses that satisfy a condition.
    pub fn meetings<'s>(
        &'s self,
        first: usize,
        second: usize,
        wanted: impl Fn(&Access, &Access) -> bool + 's,
    ) -> impl Iterator<Item = (&'s Access, &'s Access, (i128, i128))> + 's {
        let accesses =
            |task: usize| self.tasks.get(task).map(|task| task.accesses.as_slice()).unwrap_or_default();
        let pairs = accesses(first)
            .iter()
            .flat_map(move |one| accesses(second).iter().map(move |other| (one, other)));
        pairs
            .filter(move |(one, other)| one.storage == other.storage && wanted(one, other))
            .filter_map(|(one, other)| Some((one, other, one.shape.spans().meet(&other.shape.spans())?)))
    }
}

/// What a task of `rank` reads and writes; `target` is the rank of its trigger event.
fn footprint(
    task: &Task<'_>,
    rank: usize,
    target: Option<usize>,
    mut add: impl FnMut(usize, bool, &Tile<'_>, Shape),
) {
    for (index, tile) in task.inputs().iter().enumerate().filter(|(_, tile)| !tile.is_null()) {
        add(rank, false, tile, Shape::new(tile));
        if ATTENTION.contains(&task.task_type) && (index == 1 || index == 2) {
            add(rank, true, tile, Shape::new(tile));
        }
    }
    for (index, tile) in task.outputs().iter().enumerate().filter(|(_, tile)| !tile.is_null()) {
        match target {
            _ if task.task_type != COPY || index > 0 => add(rank, true, tile, Shape::new(tile)),
            Some(target) => add(target, true, tile, Shape::new(tile).slot()),
            None => {}
        }
    }
}

impl Access {
    /// Where.
    pub fn spans(&self) -> Spans {
        self.shape.spans()
    }
}
