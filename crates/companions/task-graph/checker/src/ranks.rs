//! TX02 to TX04.

use std::collections::BTreeSet;

use megakernel_ir::Rule;
use megakernel_task_graph::EventType;

use super::access::{Access, Storages};
use super::order::Order;
use super::race::conflict;
use super::{Findings, Subject};

/// TX02: copies of different ranks, and nothing else, trigger an event that a copy triggers.
pub fn events(subject: &Subject<'_>) -> Findings {
    let mut found = Findings::new();
    if subject.incomplete() {
        return found;
    }
    for (g, graph) in subject.graphs.iter().enumerate() {
        for e in 2..graph.all_events.len() {
            let mut from = Vec::new();
            for other in 0..subject.graphs.len() {
                let triggers =
                    subject.tasks(other).iter().filter(|task| subject.trigger(task) == Some((g, e)));
                from.extend(triggers.map(|task| (task.task_type == 199, other)));
            }
            let distinct: BTreeSet<usize> = from.iter().map(|(_, rank)| *rank).collect();
            let copied = from.iter().any(|(copy, _)| *copy);
            if copied && (from.iter().any(|(copy, _)| !copy) || distinct.len() != from.len()) {
                found.insert((Rule::TX02, subject.at(g, &format!("/all_events/{e}"))));
            }
        }
    }
    found
}

/// TX03 and TX04: a copy into another rank's memory, against everything there.
pub fn races(subject: &Subject<'_>, order: &Order, accesses: &[Access], storages: &Storages) -> Findings {
    let mut found = Findings::new();
    if subject.bare || subject.graphs.len() < 2 {
        return found;
    }
    let mut racing = BTreeSet::new();
    for (n, write) in accesses.iter().enumerate().filter(|(_, access)| access.remote) {
        for (m, other) in accesses.iter().enumerate() {
            let unordered = order.unordered(order.index(write.node), order.index(other.node));
            if unordered && conflict(storages, accesses, n, m) {
                found.insert((Rule::TX03, write.at.clone()));
            }
        }
    }
    for (n, a) in accesses.iter().enumerate() {
        for (m, b) in accesses.iter().enumerate() {
            if order.unordered(order.index(a.node), order.index(b.node)) && conflict(storages, accesses, n, m)
            {
                racing.insert(a.storage.clone());
            }
        }
    }
    let misaligned = !events(subject).is_empty();
    // A task that reaches no end is lost, which says it all.
    let counts = |access: &Access| {
        !racing.contains(&access.storage)
            && ends(subject, order).any(|end| reaches(order, order.index(access.node), end.0))
    };
    for (n, first) in accesses.iter().enumerate().filter(|(_, access)| counts(access)) {
        for (m, second) in accesses.iter().enumerate() {
            let (a, b) = (order.index(first.node), order.index(second.node));
            if conflict(storages, accesses, n, m) && !next_iteration(subject, order, a, b) {
                let blamed = if second.remote && !first.remote { second } else { first };
                found.insert((Rule::TX04, blamed.at.clone()));
            }
        }
    }
    if !misaligned {
        found.extend(overtaken(subject, order));
    }
    found
}

/// TX04 of events: the trigger of one task in an iteration stands in for that of another in the iteration before.
fn overtaken(subject: &Subject<'_>, order: &Order) -> Findings {
    let mut found = Findings::new();
    let trigger = |n: usize| {
        let &(graph, task) = order.nodes().get(n)?;
        subject.trigger(subject.tasks(graph).get(task)?)
    };
    let all = 0..order.nodes().len();
    for q in all.clone().filter(|&q| !order.successors(q).is_empty()) {
        let mut others = all.clone().filter(|&p| trigger(p) == trigger(q));
        if others.clone().count() >= 2 && others.any(|p| !next_iteration(subject, order, p, q)) {
            let Some(&(graph, task)) = order.nodes().get(q) else { continue };
            found.insert((Rule::TX04, subject.at(graph, &format!("/all_tasks/{task}/trigger_event"))));
        }
    }
    found
}

/// Whether `a` in one iteration comes before `b` in the next. What leads from one to the other is END of a rank, which its
/// last tasks trigger, and BEGIN of the same rank, which launches all its tasks.
fn next_iteration(subject: &Subject<'_>, order: &Order, a: usize, b: usize) -> bool {
    ends(subject, order).any(|(last, ending)| {
        reaches(order, a, last)
            && order
                .nodes()
                .iter()
                .enumerate()
                .any(|(first, node)| node.0 == ending && reaches(order, first, b))
    })
}

fn reaches(order: &Order, from: usize, to: usize) -> bool {
    from == to || order.is_before(from, to)
}

/// The tasks that trigger END of a rank, each with the rank.
fn ends<'a>(subject: &'a Subject<'_>, order: &'a Order) -> impl Iterator<Item = (usize, usize)> + 'a {
    order.nodes().iter().enumerate().filter_map(|(n, &(graph, task))| {
        let (ending, event) = subject.trigger(subject.tasks(graph).get(task)?)?;
        let event = subject.graphs.get(ending)?.all_events.get(event)?;
        (event.event_type == EventType::EndOfTaskGraph as i64).then_some((n, ending))
    })
}
