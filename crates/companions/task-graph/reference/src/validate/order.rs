//! The order that the events impose on the tasks, for the machinery of [`megakernel_order::happens_before`]: an event is to
//! tasks what a counter is there.

use megakernel_order::{Edges, Graph, Order};

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
        let events = world.events();
        let arrivals: Vec<Vec<(u32, u32)>> = match world.is_partial {
            true => (0..world.ranks.len()).map(|rank| arrivals(world, rank)).collect(),
            false => Vec::new(),
        };
        let mut starts = vec![events + 1];
        starts.extend(arrivals.iter().scan(events + 1, |next, list| {
            *next += list.len() as u32;
            Some(*next)
        }));
        // Nothing waits on this one.
        let nowhere = events;
        let mut edges = Edges::with_capacity(world.triggers.len());
        for (task, (trigger, wait)) in world.triggers.iter().zip(&world.dependent).enumerate() {
            let out = match trigger {
                Trigger::Event(event) => *event,
                Trigger::Nothing => nowhere,
                Trigger::Elsewhere => {
                    let (rank, _) = world.place(task as u32);
                    let list = arrivals.get(rank).map(Vec::as_slice).unwrap_or_default();
                    let later = list.partition_point(|&(first, _)| first <= task as u32);
                    if later < list.len() { starts[rank] + later as u32 } else { nowhere }
                }
            };
            edges.push(out, *wait);
        }
        for (list, &start) in arrivals.iter().zip(&starts) {
            for (index, &(_, event)) in list.iter().enumerate() {
                let node = start + index as u32;
                edges.push(event, Some(node));
                if index + 1 < list.len() {
                    edges.push(node + 1, Some(node));
                }
            }
        }
        let nodes = starts[starts.len() - 1] as usize;
        // An edge counts if something triggers the event that it starts from; of the first in a row nothing does.
        for &start in starts.iter().take(arrivals.len()) {
            if (start as usize) < nodes {
                edges.push(start, None);
            }
        }
        let graph = Graph::new(&edges, nodes);
        let order = Order::new(&graph);
        Events { graph, order }
    }
}

/// The events of a rank that others may trigger, by their first dependents.
fn arrivals(world: &World<'_, '_, '_>, rank: usize) -> Vec<(u32, u32)> {
    let (mut list, mut last) = (Vec::new(), None);
    for task in world.tasks_of(rank) {
        let Some(event) = world.dependent[task as usize] else { continue };
        if last != Some(event) && world.is_from_elsewhere(event) && world.dependents.of(event)[0] == task {
            list.push((task, event));
        }
        last = Some(event);
    }
    list
}
