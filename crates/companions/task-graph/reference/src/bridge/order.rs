//! Happens-before of the tasks of all ranks, on events: a task is ordered before another one if its event leads to the
//! other's (clause TGR-08).

use std::collections::{BTreeMap, HashMap};

use megakernel_ir::id;
use megakernel_task_graph::{EVENT_INVALID, EventId, TaskGraph};

use crate::types;

/// More events than this would need more memory for their order than a large machine has.
const MAX_EVENTS: usize = 1 << 18;

/// A task: the rank whose graph it is in, and its id there.
pub(super) type TaskRef = (usize, usize);

/// An event: the rank whose graph it is in, and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct EventRef {
    pub rank: usize,
    pub position: usize,
}

id! {
    /// An event that tasks wait for or trigger, among all of these.
    EventIndex
}

/// The events that tasks wait for or trigger, and which leads to which.
pub(super) struct Order {
    index: HashMap<EventRef, EventIndex>,
    pub events: Vec<EventRef>,
    /// For each event the events that it leads to, itself among them, as bits. Empty if there is a cycle.
    reach: Vec<Vec<u64>>,
    /// Place of each event in an order in which each comes after those that lead to it.
    place: Vec<usize>,
    ends: HashMap<TaskRef, Ends>,
    /// Of each collective, its mates, which have to be able to start before it goes on.
    mates: HashMap<TaskRef, Vec<TaskRef>>,
}

/// The two events of a task, as indices.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends {
    pub dependent: Option<EventIndex>,
    pub trigger: Option<EventIndex>,
}

impl Order {
    /// The order of the tasks from 2 on.
    ///
    /// # Errors
    /// The task, the member and the reason where an event id is none that a program can express.
    pub fn new(graphs: &[&TaskGraph<'_>], ranks: &[u16]) -> Result<Order, (TaskRef, &'static str, String)> {
        let mut order = Order {
            index: HashMap::new(),
            events: Vec::new(),
            reach: Vec::new(),
            place: Vec::new(),
            ends: HashMap::new(),
            mates: mates(graphs)?,
        };
        for (rank, graph) in graphs.iter().enumerate() {
            for (number, task) in graph.all_tasks.iter().enumerate().skip(2) {
                let mut event = |member, id: i64| {
                    if id == EVENT_INVALID {
                        return Ok(None);
                    }
                    let place = EventId::from_bits(id).and_then(|id| {
                        let owner = ranks.iter().position(|&rank| rank == id.rank)?;
                        Some(EventRef { rank: owner, position: id.position as usize })
                    });
                    let exists = |place: &EventRef| {
                        graphs.get(place.rank).is_some_and(|graph| place.position < graph.all_events.len())
                    };
                    match place.filter(exists) {
                        Some(place) => Ok(Some(order.number(place))),
                        None => Err(((rank, number), member, missing(id, ranks))),
                    }
                };
                let dependent = event("dependent_event", task.dependent_event)?;
                let trigger = event("trigger_event", task.trigger_event)?;
                if dependent
                    .and_then(|event| order.events.get(event.index()))
                    .is_some_and(|place| place.rank != rank)
                {
                    let reason = "depends on an event of another rank; required: one of its own".to_owned();
                    return Err(((rank, number), "dependent_event", reason));
                }
                order.ends.insert((rank, number), Ends { dependent, trigger });
            }
        }
        if order.events.len() > MAX_EVENTS {
            let reason = format!(
                "the graphs have {} events in use; at most {MAX_EVENTS} can be imported",
                order.events.len()
            );
            return Err(((0, 0), "", reason));
        }
        order.connect();
        Ok(order)
    }

    fn number(&mut self, place: EventRef) -> EventIndex {
        let next = EventIndex::at(self.events.len());
        let number = *self.index.entry(place).or_insert(next);
        if number == next {
            self.events.push(place);
        }
        number
    }

    fn connect(&mut self) {
        let count = self.events.len();
        let mut after: Vec<Vec<EventIndex>> = vec![Vec::new(); count];
        for (&task, ends) in &self.ends {
            for wait in self.waits(task) {
                if let (Some(trigger), Some(list)) = (ends.trigger, after.get_mut(wait.index())) {
                    list.push(trigger);
                }
            }
        }
        let mut before = vec![0usize; count];
        for list in &mut after {
            list.sort_unstable();
            list.dedup();
            list.iter().for_each(|event| before.get_mut(event.index()).into_iter().for_each(|n| *n += 1));
        }
        let mut sorted: Vec<EventIndex> =
            EventIndex::range(0..count).filter(|event| before.get(event.index()) == Some(&0)).collect();
        let mut next = 0;
        while let Some(&event) = sorted.get(next) {
            next += 1;
            for &later in after.get(event.index()).into_iter().flatten() {
                if let Some(left) = before.get_mut(later.index()) {
                    *left -= 1;
                    if *left == 0 {
                        sorted.push(later);
                    }
                }
            }
        }
        self.place = vec![0; count];
        if sorted.len() < count {
            return;
        }
        let words = count.div_ceil(64);
        let mut reach = vec![Vec::new(); count];
        for (place, &event) in sorted.iter().enumerate().rev() {
            let mut bits = vec![0u64; words];
            if let Some(word) = bits.get_mut(event.index() / 64) {
                *word |= 1 << (event.index() % 64);
            }
            for &later in after.get(event.index()).into_iter().flatten() {
                let other: &[u64] = reach.get(later.index()).map_or(&[], Vec::as_slice);
                bits.iter_mut().zip(other).for_each(|(word, more)| *word |= more);
            }
            if let (Some(slot), Some(of_event)) =
                (self.place.get_mut(event.index()), reach.get_mut(event.index()))
            {
                *slot = place;
                *of_event = bits;
            }
        }
        self.reach = reach;
    }

    /// The events of a task.
    pub fn ends(&self, task: TaskRef) -> Ends {
        self.ends.get(&task).copied().unwrap_or_default()
    }

    /// The events that a task waits for, some perhaps twice: its own, and of a collective those of its mates (clause TGR-23).
    fn awaited(&self, task: TaskRef) -> impl Iterator<Item = EventIndex> + '_ {
        let mates = self.mates.get(&task).map_or(&[][..], Vec::as_slice);
        std::iter::once(task).chain(mates.iter().copied()).filter_map(|task| self.ends(task).dependent)
    }

    /// The same, each once.
    pub fn waits(&self, task: TaskRef) -> Vec<EventIndex> {
        let mut waits: Vec<EventIndex> = self.awaited(task).collect();
        waits.sort_unstable();
        waits.dedup();
        waits
    }

    /// Whether a task has finished before another one starts, in every run. With a cycle nothing is ordered.
    pub fn before(&self, a: TaskRef, b: TaskRef) -> bool {
        let Some(trigger) = self.ends(a).trigger else { return false };
        self.awaited(b).any(|wait| {
            let wait = wait.index();
            let word = self.reach.get(trigger.index()).and_then(|bits| bits.get(wait / 64));
            word.is_some_and(|word| word >> (wait % 64) & 1 == 1)
        })
    }

    /// A number that rises along the order.
    pub fn height(&self, task: TaskRef) -> usize {
        let places = self.awaited(task).filter_map(|event| self.place.get(event.index()));
        places.max().map_or(0, |place| place + 1)
    }
}

/// The collectives of all ranks that meet: of each team the first with the first, and so on.
fn mates(
    graphs: &[&TaskGraph<'_>],
) -> Result<HashMap<TaskRef, Vec<TaskRef>>, (TaskRef, &'static str, String)> {
    let mut teams: BTreeMap<i64, Vec<Vec<TaskRef>>> = BTreeMap::new();
    for (rank, graph) in graphs.iter().enumerate() {
        for (number, task) in graph.all_tasks.iter().enumerate() {
            if types::is_collective(task.task_type) {
                let team = teams.entry(task.task_offset.0.unwrap_or(0));
                if let Some(own) = team.or_insert_with(|| vec![Vec::new(); graphs.len()]).get_mut(rank) {
                    own.push((rank, number));
                }
            }
        }
    }
    let mut mates = HashMap::new();
    for team in teams.values() {
        for &task in team.iter().flatten() {
            let turn = team.get(task.0).and_then(|own| own.iter().position(|&other| other == task));
            let met: Option<Vec<TaskRef>> = team.iter().map(|own| own.get(turn?).copied()).collect();
            let reason = || "some rank has no mate for this collective; see rule TX05".to_owned();
            mates.insert(task, met.ok_or_else(|| (task, "task_type", reason()))?);
        }
    }
    Ok(mates)
}

fn missing(id: i64, ranks: &[u16]) -> String {
    match EventId::from_bits(id) {
        Some(EventId { rank, position, .. }) if ranks.contains(&rank) => {
            format!("event {position} of rank {rank} is not there")
        }
        Some(EventId { rank, position, .. }) => {
            format!(
                "event {position} is of rank {rank}, whose graph is not given; give the graphs of all ranks"
            )
        }
        None => format!("{id:#x} is no event id"),
    }
}
