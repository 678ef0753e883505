//! A system as tables: who triggers what, who waits for what, who accesses what.

use std::collections::{BTreeMap, HashMap};

use megakernel_task_graph::{
    EVENT_INVALID, Effect, EventId, EventType, Reach, Select, System, Task, TaskGraph, Tile,
};

use super::footprint::{Shape, Spans};
use megakernel_ir::TaskId;

const REDUCE: i64 = 107;

/// A part that a task selects: by what, for tasks of which type if not of all, and which.
pub type Part = (Select, Option<i64>, i64);

/// What a task does to a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Index among [`Setup::storages`].
    pub storage: usize,
    /// Otherwise it reads.
    pub writes: bool,
    /// Whether it writes by adding, which reads too.
    pub adds: bool,
    /// Whether it leaves a start value for whoever comes next.
    pub resets: bool,
    /// What of the tile it accesses; all if empty.
    pub parts: Vec<Part>,
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
    /// Of a collective, its team.
    pub team: Option<i64>,
    /// The tasks that have to start before it goes on, itself among them; none if it is no collective.
    pub mates: Vec<usize>,
    /// Whether mates are missing, so that it never goes on.
    pub is_stranded: bool,
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
                let add = |at: usize,
                           (writes, effect): (bool, Effect),
                           tile: &Tile<'_>,
                           parts: &[Part],
                           shape: Shape| {
                    let next = names.len();
                    let storage = *names.entry((at, tile.base_ptr.to_string())).or_insert(next);
                    let (adds, resets) = (effect == Effect::Add, writes && effect == Effect::Reset);
                    accesses.push(Access { storage, writes, adds, resets, parts: parts.to_vec(), shape });
                };
                footprint(task, rank, (target, graphs.len()), add);
                let reach = task.known_type().map_or(Reach::Own, |known| known.reach);
                let signalled = EventId::from_bits(task.dependent_event).is_some_and(|id| id.nvshmem);
                if let Some(event) = dependent.filter(|_| task.task_type == REDUCE || signalled)
                    && let Some(tagged) = tagged.get_mut(event)
                {
                    *tagged = true;
                }
                if let Some(event) = trigger.filter(|_| reach == Reach::Put)
                    && let Some(tagged) = tagged.get_mut(event)
                {
                    *tagged = true;
                }
                let team = (reach == Reach::Rendezvous).then(|| task.task_offset.0.unwrap_or(0));
                elsewhere |= bare.is_some() && team.is_some();
                setup.tasks.push(Work {
                    rank,
                    id,
                    kind: task.task_type,
                    dependent,
                    trigger,
                    accesses,
                    team,
                    mates: Vec::new(),
                    is_stranded: false,
                });
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
        if bare.is_none() {
            setup.meet(graphs.len());
        }
        let mut storages: Vec<_> = names.into_iter().collect();
        storages.sort_by_key(|&(_, index)| index);
        setup.storages = storages.into_iter().map(|(name, _)| name).collect();
        Ok(setup)
    }

    /// Finds the mates of collectives: the first of a team on each rank, the second, and so on.
    fn meet(&mut self, ranks: usize) {
        let mut teams: BTreeMap<i64, Vec<Vec<usize>>> = BTreeMap::new();
        for (index, task) in self.tasks.iter().enumerate() {
            let Some(team) = task.team else { continue };
            let of_ranks = teams.entry(team).or_insert_with(|| vec![Vec::new(); ranks]);
            if let Some(own) = of_ranks.get_mut(task.rank) {
                own.push(index);
            }
        }
        for of_ranks in teams.values() {
            for nth in 0..of_ranks.iter().map(Vec::len).max().unwrap_or(0) {
                let mates: Vec<usize> = of_ranks.iter().filter_map(|own| own.get(nth).copied()).collect();
                for &mate in &mates {
                    if let Some(task) = self.tasks.get_mut(mate) {
                        task.is_stranded = mates.len() < ranks;
                        task.mates.clone_from(&mates);
                    }
                }
            }
        }
    }

    /// The index of a task from its number through all ranks, as diagnostics have it.
    pub fn by_number(&self, number: TaskId) -> Option<usize> {
        let number = number.index();
        self.tasks
            .iter()
            .position(|task| self.first.get(task.rank).map(|first| first + task.id) == Some(number))
    }

    /// The number of a task through all ranks.
    pub fn number(&self, task: usize) -> TaskId {
        let number = self.tasks.get(task).and_then(|task| Some(self.first.get(task.rank)? + task.id));
        TaskId::at(number.unwrap_or(usize::MAX))
    }

    /// Where two tasks meet, if one of them writes: the accesses, the earlier task's first, and the bits.
    pub fn conflict(&self, first: usize, second: usize) -> Option<(&Access, &Access, (i128, i128))> {
        self.meetings(first, second, |one, other| one.conflicts(other)).next()
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
            .filter(move |(one, other)| {
                one.storage == other.storage && one.is_beside(other) && wanted(one, other)
            })
            .filter_map(|(one, other)| Some((one, other, one.shape.spans().meet(&other.shape.spans())?)))
    }
}

/// What a task of `rank` reads, writes and adds to; `target` is the rank of its trigger event, of so many ranks.
fn footprint(
    task: &Task<'_>,
    rank: usize,
    (target, ranks): (Option<usize>, usize),
    mut add: impl FnMut(usize, (bool, Effect), &Tile<'_>, &[Part], Shape),
) {
    let known = task.known_type();
    let reach = known.map_or(Reach::Own, |known| known.reach);
    let lists = [(false, task.inputs()), (true, task.outputs())];
    for (is_output, index, tile) in lists
        .iter()
        .flat_map(|&(is_output, tiles)| tiles.iter().enumerate().map(move |(i, t)| (is_output, i, t)))
    {
        if tile.is_null() {
            continue;
        }
        let role = known
            .and_then(|known| if is_output { known.outputs.get(index) } else { known.inputs.get(index) });
        let effect = role.map_or(if is_output { Effect::Write } else { Effect::Read }, |role| role.access);
        let parts: Vec<Part> =
            role.map_or(&[][..], |role| role.by).iter().filter_map(|&select| part(task, select)).collect();
        let (reads, writes) = match effect {
            Effect::None => (false, false),
            Effect::Read => (true, false),
            Effect::Write | Effect::Add => (false, true),
            Effect::Modify | Effect::Reset => (true, true),
        };
        let mut at = vec![rank];
        let mut shape = Shape::new(tile);
        if is_output && reach == Reach::Put {
            shape = shape.slot();
            at = target.into_iter().collect();
        } else if !is_output && index == 0 && reach == Reach::Rendezvous {
            at = (0..ranks).collect();
        }
        for memory in at {
            if reads {
                add(memory, (false, effect), tile, &parts, shape.clone());
            }
            if writes {
                add(memory, (true, effect), tile, &parts, shape.clone());
            }
        }
    }
}

/// What a task selects by one of the selections of the table.
fn part(task: &Task<'_>, select: Select) -> Option<Part> {
    let how = select.selection()?;
    let value = task.member(how.member)?;
    let value = if how.modulo > 0 { value.rem_euclid(how.modulo) } else { value };
    Some((select, how.own.then_some(task.task_type), value))
}

impl Access {
    /// Where.
    pub fn spans(&self) -> Spans {
        self.shape.spans()
    }

    /// Whether it matters which of two comes first.
    pub fn conflicts(&self, other: &Access) -> bool {
        (self.writes || other.writes) && !(self.adds && other.adds)
    }

    /// Whether two may access the same of their tiles: nothing is selected that differs.
    pub fn is_beside(&self, other: &Access) -> bool {
        self.parts.iter().all(|&(select, own, value)| {
            let same = other.parts.iter().filter(|&&(theirs, type_of, _)| (theirs, type_of) == (select, own));
            same.into_iter().all(|&(_, _, theirs)| theirs == value)
        })
    }
}
