//! TD, and TR01, which counts the same triggers.

use megakernel_ir::Rule;
use megakernel_task_graph::{EVENT_INVALID, EventType, Task};

use super::order::{Order, from_elsewhere};
use super::{Findings, Subject, is_collective};

/// TD01 to TD05 and TR01.
pub fn errors(subject: &Subject<'_>, order: &Order) -> Findings {
    let mut found = counts(subject);
    found.extend(cycles(subject, order));
    found.extend(lost(subject, order));
    found
}

fn counts(subject: &Subject<'_>) -> Findings {
    let mut found = Findings::new();
    for (g, graph) in subject.graphs.iter().enumerate() {
        for (e, event) in graph.all_events.iter().enumerate().skip(2) {
            let everyone = (0..subject.graphs.len()).flat_map(|graph| subject.tasks(graph));
            let producers = everyone.filter(|task| subject.trigger(task) == Some((g, e))).count() as i64;
            let waited = graph.all_tasks.iter().any(|task| subject.dependent(task) == Some(e));
            let end = event.event_type == EventType::EndOfTaskGraph as i64;
            if from_elsewhere(subject, g, e) || !(waited || end) {
                continue;
            }
            let rule = match producers {
                0 => Rule::TD01,
                _ if event.num_triggers > producers => Rule::TD02,
                _ if event.num_triggers < producers => Rule::TR01,
                _ => continue,
            };
            found.insert((rule, subject.at(g, &format!("/all_events/{e}/num_triggers"))));
        }
    }
    found
}

/// One finding for each set of tasks that wait for each other, and descending ids elsewhere.
fn cycles(subject: &Subject<'_>, order: &Order) -> Findings {
    let mut found = Findings::new();
    let mut told: Vec<usize> = Vec::new();
    for (n, &(graph, task)) in order.nodes().iter().enumerate() {
        let on_cycle = order.leads(n, n);
        if on_cycle && !told.iter().any(|&other| order.leads(other, n) && order.leads(n, other)) {
            told.push(n);
            found.insert((Rule::TD03, subject.at(graph, &format!("/all_tasks/{task}"))));
        }
        for &next in order.direct(n) {
            let Some(&(other, consumer)) = order.nodes().get(next) else { continue };
            if other == graph && consumer < task && !order.leads(next, n) {
                let at = subject.at(graph, &format!("/all_tasks/{consumer}/dependent_event"));
                found.insert((Rule::TD04, at));
            }
        }
    }
    if found.is_empty() {
        found.extend(queues(subject, order));
    }
    found
}

/// The second case of TD04: with one worker each rank goes through its tasks in the order of their ids, and that order and the
/// edges between ranks make a cycle.
fn queues(subject: &Subject<'_>, order: &Order) -> Option<(Rule, String)> {
    let nodes = order.nodes();
    let mut edges: Vec<Vec<usize>> = (0..nodes.len()).map(|n| order.successors(n).to_vec()).collect();
    for (n, pair) in nodes.windows(2).enumerate() {
        if let ([a, b], Some(edges)) = (pair, edges.get_mut(n))
            && a.0 == b.0
        {
            edges.push(n + 1);
            edges.extend(order.mates(n + 1));
        }
    }
    let waits = |&consumer: &usize| {
        let rank = |n: usize| nodes.get(n).map(|node| node.0);
        let mates = order.mates(consumer);
        (0..nodes.len()).any(|producer| {
            let apart = rank(producer) != rank(consumer) && order.direct(producer).contains(&consumer);
            let through = mates.iter().any(|&mate| {
                let behind = producer + 1 == mate && rank(producer) == rank(mate);
                mate != consumer && (behind || order.direct(producer).contains(&mate))
            });
            let back = || super::order::reached(&edges, consumer).get(producer).copied().unwrap_or(false);
            (apart || through) && back()
        })
    };
    let &(graph, task) = nodes.get((0..nodes.len()).find(waits)?)?;
    Some((Rule::TD04, subject.at(graph, &format!("/all_tasks/{task}/dependent_event"))))
}

fn lost(subject: &Subject<'_>, order: &Order) -> Findings {
    let mut found = Findings::new();
    let ends = |n: usize| {
        let Some(task) = order.nodes().get(n).and_then(|&(g, t)| subject.tasks(g).get(t)) else {
            return false;
        };
        let Some((graph, event)) = subject.trigger(task) else {
            // What becomes of a trigger in a graph that is not seen cannot be told.
            return task.trigger_event != EVENT_INVALID;
        };
        let meets = |task: &Task<'_>| is_collective(task) && subject.dependent(task) == Some(event);
        if subject.bare && subject.tasks(0).iter().any(meets) {
            return true;
        }
        let event = subject.graphs.get(graph).and_then(|graph| graph.all_events.get(event));
        event.is_some_and(|event| event.event_type == EventType::EndOfTaskGraph as i64)
    };
    for (n, &(graph, task)) in order.nodes().iter().enumerate() {
        let arrives = ends(n) || (0..order.nodes().len()).any(|last| order.leads(n, last) && ends(last));
        if !arrives {
            found.insert((Rule::TD05, subject.at(graph, &format!("/all_tasks/{task}/trigger_event"))));
        }
    }
    found
}
