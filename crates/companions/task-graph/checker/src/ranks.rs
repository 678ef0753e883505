//! TX02 to TX06.

use std::collections::BTreeSet;

use megakernel_ir::Rule;
use megakernel_task_graph::{EventType, Task};

use super::access::{Access, Storages};
use super::order::Order;
use super::race::conflict;
use super::{Findings, Subject, is_collective};

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
            let puts = |rank: usize| {
                let own = subject.tasks(rank).iter().filter(|task| task.task_type == 301);
                own.filter(|task| subject.trigger(task) == Some((g, e))).count()
            };
            let puts: BTreeSet<usize> = (0..subject.graphs.len()).map(puts).filter(|&n| n > 0).collect();
            if puts.len() > 1 {
                found.insert((Rule::TX02, subject.at(g, &format!("/all_events/{e}"))));
            }
            let copied = from.iter().any(|(copy, _)| *copy);
            if copied && (from.iter().any(|(copy, _)| !copy) || distinct.len() != from.len()) {
                found.insert((Rule::TX02, subject.at(g, &format!("/all_events/{e}"))));
            }
        }
    }
    found
}

/// The task of a node.
fn task_of<'a>(subject: &Subject<'a>, order: &Order, n: usize) -> Option<&'a Task<'a>> {
    let &(graph, task) = order.nodes().get(n)?;
    subject.tasks(graph).get(task)
}

/// TX05: collectives without mates, and mates of other tiles than that of the lowest rank.
pub fn collectives(subject: &Subject<'_>, order: &Order) -> Findings {
    let mut found = Findings::new();
    if subject.bare || subject.graphs.len() < 2 {
        return found;
    }
    let tile = |n: usize| {
        let first = task_of(subject, order, n).and_then(|task| task.inputs().first());
        first.map(|t| (t.base_ptr.to_string(), t.data_type, t.offset, t.dims.to_vec(), t.strides.to_vec()))
    };
    for (n, &(graph, task)) in order.nodes().iter().enumerate() {
        if !task_of(subject, order, n).is_some_and(is_collective) {
            continue;
        }
        if order.mates(n).first().is_none_or(|&first| tile(first) != tile(n)) {
            found.insert((Rule::TX05, subject.at(graph, &format!("/all_tasks/{task}"))));
        }
    }
    found
}

/// Which ranks' ends tasks lead to, and which ranks' begins they follow.
pub struct Iterations {
    ends: Vec<BTreeSet<usize>>,
    begins: Vec<BTreeSet<usize>>,
}

impl Iterations {
    /// Of every task.
    pub fn new(subject: &Subject<'_>, order: &Order) -> Iterations {
        let all = 0..order.nodes().len();
        let last: Vec<(usize, usize)> = ends(subject, order).collect();
        let ends = |n: usize| last.iter().filter(|end| reaches(order, n, end.0)).map(|end| end.1).collect();
        let everywhere: BTreeSet<usize> = (0..subject.graphs.len()).collect();
        let begins = |n: usize| {
            let before = all.clone().filter(|first| reaches(order, *first, n));
            let of = |first: usize| match (order.mates(first).is_empty(), order.nodes().get(first)) {
                // Mates are on every rank.
                (false, _) => everywhere.clone(),
                (true, node) => node.map(|node| node.0).into_iter().collect(),
            };
            before.flat_map(of).collect()
        };
        Iterations { ends: all.clone().map(ends).collect(), begins: all.clone().map(begins).collect() }
    }

    fn ends(&self, n: usize) -> BTreeSet<usize> {
        self.ends.get(n).cloned().unwrap_or_default()
    }

    fn begins(&self, n: usize) -> BTreeSet<usize> {
        self.begins.get(n).cloned().unwrap_or_default()
    }

    /// Whether `a` in one iteration comes before `b` in the next. What leads from one to the other is END of a rank, which its
    /// last tasks trigger, and BEGIN of the same rank, which launches all its tasks.
    fn before(&self, a: usize, b: usize) -> bool {
        !self.ends(a).is_disjoint(&self.begins(b))
    }

    /// Whether a task leads to no end at all.
    fn lost(&self, n: usize) -> bool {
        self.ends(n).is_empty()
    }
}

/// TX06: two collectives of one team that can be under way on one rank.
pub fn at_once(subject: &Subject<'_>, order: &Order) -> Findings {
    let mut found = Findings::new();
    if subject.bare || subject.graphs.len() < 2 {
        return found;
    }
    let iterations = Iterations::new(subject, order);
    let team = |n: usize| {
        let &(graph, _) = order.nodes().get(n)?;
        let task = task_of(subject, order, n).filter(|task| is_collective(task))?;
        Some((graph, task.task_offset.0.unwrap_or(0)))
    };
    let all = || 0..order.nodes().len();
    for y in all().filter(|&y| team(y).is_some()) {
        let Some(&(graph, task)) = order.nodes().get(y) else { continue };
        let producers = |of: usize| all().filter(move |&p| order.direct(p).contains(&of));
        let waits = |x: usize, y: usize| producers(y).any(|p| reaches(order, x, p));
        let mut begins: BTreeSet<usize> = producers(y).flat_map(|p| iterations.begins(p)).collect();
        begins.insert(graph);
        let wrong = all().filter(|&x| team(x) == team(y)).any(|x| {
            let next = !iterations.ends(x).is_disjoint(&begins);
            x < y && !waits(x, y) && !waits(y, x) || !next && !iterations.lost(x) && !iterations.lost(y)
        });
        if wrong {
            found.insert((Rule::TX06, subject.at(graph, &format!("/all_tasks/{task}"))));
        }
    }
    found
}

/// TX03 and TX04: an access to another rank's memory, against everything there.
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
                // Of two remote ones, that of the higher rank and id.
                let at = if other.remote && other.node > write.node { other } else { write };
                found.insert((Rule::TX03, at.at.clone()));
            }
        }
    }
    for (n, a) in accesses.iter().enumerate() {
        for (m, b) in accesses.iter().enumerate() {
            if a.storage == b.storage
                && order.unordered(order.index(a.node), order.index(b.node))
                && conflict(storages, accesses, n, m)
            {
                racing.insert(a.storage.clone());
            }
        }
    }
    let misaligned = events(subject);
    // A task that reaches no end is lost, which says it all.
    let iterations = Iterations::new(subject, order);
    let counts =
        |access: &Access| !racing.contains(&access.storage) && !iterations.lost(order.index(access.node));
    for (n, first) in accesses.iter().enumerate().filter(|(_, access)| counts(access)) {
        for (m, second) in accesses.iter().enumerate() {
            let (a, b) = (order.index(first.node), order.index(second.node));
            if first.storage == second.storage
                && !iterations.before(a, b)
                && conflict(storages, accesses, n, m)
            {
                let blamed = if second.remote { second } else { first };
                found.insert((Rule::TX04, blamed.at.clone()));
            }
        }
    }
    found.extend(overtaken(subject, order, &iterations, &misaligned));
    found
}

/// TX04 of events: the trigger of one task in an iteration stands in for that of another, or of itself, in the iteration before.
fn overtaken(
    subject: &Subject<'_>,
    order: &Order,
    iterations: &Iterations,
    misaligned: &Findings,
) -> Findings {
    let mut found = Findings::new();
    let trigger = |n: usize| {
        let &(graph, task) = order.nodes().get(n)?;
        subject.trigger(subject.tasks(graph).get(task)?)
    };
    let is_end = |(graph, event): (usize, usize)| {
        let event = subject.graphs.get(graph).and_then(|graph| graph.all_events.get(event));
        event.is_some_and(|event| event.event_type == EventType::EndOfTaskGraph as i64)
    };
    for q in (0..order.nodes().len()).filter(|&q| !iterations.lost(q)) {
        let Some(event) = trigger(q) else { continue };
        let at = subject.at(event.0, &format!("/all_events/{}", event.1));
        let awaited = is_end(event) || !order.direct(q).is_empty();
        if !awaited || misaligned.contains(&(Rule::TX02, at)) {
            continue;
        }
        let mut others =
            (0..order.nodes().len()).filter(|&p| trigger(p) == Some(event) && !iterations.lost(p));
        if others.any(|p| !iterations.before(p, q)) {
            let Some(&(graph, task)) = order.nodes().get(q) else { continue };
            found.insert((Rule::TX04, subject.at(graph, &format!("/all_tasks/{task}/trigger_event"))));
        }
    }
    found
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
