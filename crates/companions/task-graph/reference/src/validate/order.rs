//! The order that the events impose on the tasks, for the machinery of [`megakernel_order::happens_before`]: an event is to
//! tasks what a counter is there.

use megakernel_ir::{CounterId, TaskId};
use megakernel_order::{Edges, Graph, Order};

use crate::types;
use crate::validate::world::{Trigger, World};

/// The graph of events.
pub struct Events {
    /// Tasks and the events that they wait for and trigger; past the last task stand edges between events.
    pub graph: Graph,
    /// Nothing where events wait for each other in a cycle.
    pub order: Option<Order>,
}

impl Events {
    /// The edges that the document has, and between unknown ranks those that it may have (see [`World::is_partial`]): a
    /// copy to another rank may come before every event from elsewhere whose dependents all come later in the queue.
    pub fn new(world: &World<'_, '_, '_>) -> Events {
        let events = world.waits();
        let arrivals: Vec<Vec<(TaskId, Arrival)>> = match world.is_partial {
            true => (0..world.ranks.len()).map(|rank| arrivals(world, rank)).collect(),
            false => Vec::new(),
        };
        let mut starts = vec![events + 1];
        starts.extend(arrivals.iter().scan(events + 1, |next, list| {
            *next += list.len();
            Some(*next)
        }));
        // Nothing waits on this one.
        let nowhere = CounterId::at(events);
        let elsewhere = |task: TaskId| {
            let (rank, _) = world.place(task);
            let list = arrivals.get(rank).map(Vec::as_slice).unwrap_or_default();
            let later = list.partition_point(|&(first, _)| first <= task);
            if later < list.len() { CounterId::at(starts[rank] + later) } else { nowhere }
        };
        let mut edges = Edges::with_capacity(world.triggers.len());
        let mut add = |out: CounterId, waits: [Option<CounterId>; 2]| {
            edges.push(out, waits.into_iter().flatten());
        };
        for (task, trigger) in world.task_ids().zip(&world.triggers) {
            let out = match trigger {
                Trigger::Event(event) => *event,
                Trigger::Nothing => nowhere,
                Trigger::Elsewhere => elsewhere(task),
            };
            // Alone, a collective also waits for mates that are not there to be seen.
            let mates = world.is_partial.then(|| mates(&arrivals, &starts, world.rank(task), task)).flatten();
            add(out, [world.wait(task), mates]);
        }
        // What comes before the start of a collective comes before all that meet it, wherever those are.
        for &task in world.meetings.met() {
            add(world.meeting(task).unwrap_or(nowhere), [world.dependent[task.index()], None]);
        }
        for &(task, arrival) in arrivals.iter().flatten() {
            if arrival == Arrival::Task(task) {
                add(elsewhere(task), [world.dependent[task.index()], None]);
            }
        }
        for (list, &start) in arrivals.iter().zip(&starts) {
            for (index, &(_, arrival)) in list.iter().enumerate() {
                let node = Some(CounterId::at(start + index));
                if let Arrival::Event(event) = arrival {
                    add(event, [node, None]);
                }
                if index + 1 < list.len() {
                    add(CounterId::at(start + index + 1), [node, None]);
                }
            }
        }
        let nodes = starts[starts.len() - 1];
        // An edge counts if something triggers the event that it starts from; of the first in a row nothing does.
        for &start in starts.iter().take(arrivals.len()) {
            if start < nodes {
                add(CounterId::at(start), [None, None]);
            }
        }
        let graph = Graph::new(&edges, nodes);
        let order = Order::new(&graph);
        Events { graph, order }
    }
}

/// What may come from ranks that are not there to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    /// The triggers of an event.
    Event(CounterId),
    /// The mates of a collective.
    Task(TaskId),
}

/// The events of a rank that others may trigger, by their first dependents, and its collectives.
fn arrivals(world: &World<'_, '_, '_>, rank: usize) -> Vec<(TaskId, Arrival)> {
    let mut list = Vec::new();
    for task in world.tasks_of(rank) {
        if types::is_collective(world.task(task).task_type) {
            list.push((task, Arrival::Task(task)));
        }
        let Some(event) = world.dependent[task.index()] else { continue };
        if world.dependents.of(event)[0] == task && world.is_from_elsewhere(event) {
            list.push((task, Arrival::Event(event)));
        }
    }
    list
}

/// The node at which the mates of a collective arrive.
fn mates(
    arrivals: &[Vec<(TaskId, Arrival)>],
    starts: &[usize],
    rank: usize,
    task: TaskId,
) -> Option<CounterId> {
    let list = arrivals.get(rank)?;
    // Of one task, its mates stand before its event.
    let at = list.partition_point(|&(first, _)| first < task);
    let (_, arrival) = list.get(at)?;
    (*arrival == Arrival::Task(task)).then_some(CounterId::at(starts.get(rank)? + at))
}
