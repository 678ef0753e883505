//! What is suggested as a repair does repair: applied to graphs, the finding is gone.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::prng::SplitMix64;
use megakernel_ir::{Diagnostic, Layout, Rule, write_record};
use megakernel_task_graph::{
    EVENT_INVALID, EventId, EventType, Task, TaskGraph, read_system, read_task_graph, read_translation,
};
use megakernel_task_graph_reference::translate::translate;
use megakernel_task_graph_reference::validate::{Graphs, Repair, repairs, validate_graphs};
use serde_json::{Value, json};

use crate::kernel_graphs::random::{Random, kernel_graph};
use crate::support::system;

/// Graphs, and where tasks and events are in them.
struct Patient<'a> {
    ranks: Vec<TaskGraph<'a>>,
}

impl Patient<'_> {
    /// The rank of the n-th of things that are numbered on through the ranks, and its number there.
    fn place(&self, number: u32, length: fn(&TaskGraph<'_>) -> usize) -> (usize, usize) {
        let mut number = number as usize;
        for (rank, graph) in self.ranks.iter().enumerate() {
            if number < length(graph) {
                return (rank, number);
            }
            number -= length(graph);
        }
        unreachable!("there is no such number")
    }

    fn task(&self, number: u32) -> (usize, usize) {
        self.place(number, |graph| graph.all_tasks.len())
    }

    fn event(&self, number: u32) -> (usize, usize) {
        self.place(number, |graph| graph.all_events.len())
    }

    fn id((rank, position): (usize, usize)) -> i64 {
        EventId { rank: rank as u16, position: position as u32, nvshmem: false }.bits()
    }

    fn triggers_of(&self, event: (usize, usize)) -> i64 {
        let bits = Patient::id(event);
        let tagged = EventId { nvshmem: true, ..EventId::from_bits(bits).expect("an id") }.bits();
        let all = self.ranks.iter().flat_map(|graph| graph.all_tasks.iter().skip(2));
        all.filter(|task| task.trigger_event == bits || task.trigger_event == tagged).count() as i64
    }

    /// Does what a repair says; nothing where it is for people to see how.
    fn apply(&mut self, repair: Repair) -> bool {
        match repair {
            Repair::Wait { task, event } => {
                let (rank, task) = self.task(task);
                self.ranks[rank].all_tasks[task].dependent_event = Patient::id(self.event(event));
            }
            Repair::Trigger { task, event } => {
                let ((rank, task), event) = (self.task(task), self.event(event));
                let before = EventId::from_bits(self.ranks[rank].all_tasks[task].trigger_event);
                if let Some(before) = before {
                    self.ranks[rank].all_events[before.position as usize].num_triggers -= 1;
                }
                self.ranks[rank].all_tasks[task].trigger_event = Patient::id(event);
                self.ranks[event.0].all_events[event.1].num_triggers = self.triggers_of(event);
            }
            Repair::New { tasks: [one, other] } => {
                let ((rank, one), (_, other)) = (self.task(one), self.task(other));
                let graph = &mut self.ranks[rank];
                let before = EventId::from_bits(graph.all_tasks[one].trigger_event);
                if let Some(before) = before {
                    graph.all_events[before.position as usize].num_triggers -= 1;
                }
                let new = Patient::id((rank, graph.all_events.len()));
                let mut event = graph.all_events[1].clone();
                (event.event_type, event.num_triggers) = (EventType::Empty as i64, 1);
                graph.all_events.push(event);
                graph.all_tasks[one].trigger_event = new;
                graph.all_tasks[other].dependent_event = new;
            }
            Repair::Join { events: [one, other] } => {
                let (into, from) = (self.event(one), self.event(other));
                for task in &mut self.ranks[into.0].all_tasks {
                    for id in [&mut task.trigger_event, &mut task.dependent_event] {
                        if *id == Patient::id(from) {
                            *id = Patient::id(into);
                        }
                    }
                }
                self.ranks[into.0].all_events[into.1].num_triggers = self.triggers_of(into);
                self.ranks[from.0].all_events[from.1].num_triggers = 1;
            }
            Repair::Put { like, event } => {
                let ((rank, like), event) = (self.task(like), self.event(event));
                let mut put = self.ranks[rank].all_tasks[like].clone();
                put.trigger_event =
                    EventId { nvshmem: true, ..EventId::from_bits(Patient::id(event)).expect("an id") }
                        .bits();
                self.ranks[rank].all_tasks.push(put);
                self.ranks[event.0].all_events[event.1].num_triggers += 1;
            }
            Repair::Exchange { .. } => return false,
        }
        self.ranks.iter_mut().enumerate().for_each(|(rank, graph)| renumber(rank, graph));
        true
    }
}

/// Deals out ids anew: tasks of one event stand together, and after all that trigger it; events without tasks are left out.
fn renumber(rank: usize, graph: &mut TaskGraph<'_>) {
    let own = |bits: i64| {
        EventId::from_bits(bits).filter(|id| usize::from(id.rank) == rank).map(|id| id.position as usize)
    };
    let mut left: Vec<_> = graph.all_tasks.drain(2..).collect();
    let mut first_tasks = Vec::new();
    while !left.is_empty() {
        let open: BTreeSet<usize> = left.iter().filter_map(|task| own(task.trigger_event)).collect();
        let next = left
            .iter()
            .map(|task| own(task.dependent_event))
            .find(|event| event.is_none_or(|event| !open.contains(&event)));
        let next = next.expect("no cycle");
        let (now, later) = left.into_iter().partition(|task| own(task.dependent_event) == next);
        left = later;
        let (start, now): (usize, Vec<_>) = (graph.all_tasks.len(), now);
        graph.all_tasks.extend(now);
        let end = graph.all_tasks.len();
        match next {
            Some(event) => {
                graph.all_events[event].first_task_id = start as i64;
                graph.all_events[event].last_task_id = end as i64;
            }
            None => first_tasks.extend((start..end).map(|task| task as i64)),
        }
    }
    graph.first_tasks = first_tasks;
    let end = graph.all_tasks.len() as i64;
    graph.all_events[1].last_task_id = end;
    for position in 2..graph.all_events.len() {
        let waits = |task: &Task<'_>| own(task.dependent_event) == Some(position);
        if !graph.all_tasks.iter().any(waits) {
            (graph.all_events[position].first_task_id, graph.all_events[position].last_task_id) = (0, 0);
        }
    }
}

fn judged(ranks: &[TaskGraph<'_>]) -> Vec<Diagnostic> {
    validate_graphs(Graphs::System(ranks, None)).diagnostics
}

/// How many findings of each rule there are.
fn counts(found: &[Diagnostic]) -> BTreeMap<Rule, usize> {
    let mut counts = BTreeMap::new();
    found
        .iter()
        .filter(|found| found.is_error())
        .for_each(|found| *counts.entry(found.rule).or_default() += 1);
    counts
}

/// Repairs the first finding that can be, again and again; what is left, and the repairs.
fn healed(text: &str) -> (Vec<Diagnostic>, Vec<Repair>) {
    let read = read_system(text.as_bytes()).expect("a system");
    let mut patient = Patient { ranks: read.ranks };
    let mut done = Vec::new();
    loop {
        let found = judged(&patient.ranks);
        let all: Vec<&Diagnostic> = found.iter().filter(|found| found.is_error()).collect();
        let offered = repairs(&Graphs::System(&patient.ranks, None), &all);
        assert_eq!(offered.len(), all.len());
        let Some((repair, words)) =
            offered.into_iter().flatten().find(|(repair, _)| !matches!(repair, Repair::Exchange { .. }))
        else {
            return (found, done);
        };
        assert!(!words.is_empty());
        patient.apply(repair);
        done.push(repair);
        let after = judged(&patient.ranks);
        let structure: Vec<&Diagnostic> = after
            .iter()
            .filter(|found| found.is_error() && found.rule.id().starts_with("TS") || found.rule == Rule::TD03)
            .collect();
        assert!(structure.is_empty(), "{repair:?} breaks {structure:?}");
        assert_ne!(found, after, "{repair:?} changes nothing");
        assert!(done.len() < 200, "{done:?}");
    }
}

#[test]
fn a_put_to_the_own_slot_is_what_reductions_lack() {
    let mut both = system();
    for (rank, graph) in both["ranks"].as_array_mut().expect("ranks").iter_mut().enumerate() {
        let tasks = graph["all_tasks"].as_array_mut().expect("tasks");
        let own = (0..tasks.len()).filter(|&task| {
            let id = tasks[task]["trigger_event"].as_i64().and_then(EventId::from_bits);
            id.is_some_and(|id| id.nvshmem && usize::from(id.rank) == rank)
        });
        for task in own.collect::<Vec<_>>().into_iter().rev() {
            tasks.remove(task);
        }
        *graph = redone(graph, rank);
    }
    let text = both.to_string();
    let read = read_system(text.as_bytes()).expect("a system");
    let before = judged(&read.ranks);
    assert!(before.iter().any(|found| found.rule == Rule::TR02), "{before:?}");
    let (left, done) = healed(&text);
    assert_eq!(left, [], "{done:?}");
    assert!(done.len() == 4 && done.iter().all(|repair| matches!(repair, Repair::Put { .. })), "{done:?}");
}

/// A graph with thresholds and ranges that fit its tasks.
fn redone(graph: &Value, rank: usize) -> Value {
    let text = graph.to_string();
    let mut read = read_task_graph(text.as_bytes()).expect("a graph");
    renumber(rank, &mut read);
    for event in &mut read.all_events[2..] {
        event.num_triggers = 1;
    }
    serde_json::from_str(&write_record(&read, Layout::Compact)).expect("JSON")
}

/// Safe graphs of up to so many tasks, translated from kernel graphs drawn at random.
fn safe_graphs(most: usize) -> impl Iterator<Item = Value> {
    (0..).filter_map(move |seed| {
        let kernel_graph = kernel_graph(&mut Random(SplitMix64::new(seed)), 5, 1);
        let request = json!({"kernel_graph": kernel_graph, "mode": "sound"}).to_string();
        let graph = translate(&read_translation(request.as_bytes()).expect("a request")).ok()?;
        let graph: Value = serde_json::from_str(&write_record(&graph, Layout::Compact)).expect("JSON");
        (graph["all_tasks"].as_array().expect("tasks").len() <= most).then_some(graph)
    })
}

/// A graph in which one task triggers nothing, or does not wait: the first or last of those that wait for its event, so that their ids
/// stay as they are.
fn left_out(graph: &Value, task: usize, member: &str) -> Option<Value> {
    let mut broken = graph.clone();
    let id = EventId::from_bits(broken["all_tasks"][task][member].as_i64()?)?;
    broken["all_tasks"][task][member] = EVENT_INVALID.into();
    if member == "trigger_event" {
        return Some(broken);
    }
    let event = &mut broken["all_events"][id.position as usize];
    let (first, last) = (event["first_task_id"].as_u64()? as usize, event["last_task_id"].as_u64()? as usize);
    match (first == task, last == task + 1) {
        (true, true) => (event["first_task_id"], event["last_task_id"]) = (0.into(), 0.into()),
        (true, false) => event["first_task_id"] = (task + 1).into(),
        (false, true) => event["last_task_id"] = task.into(),
        (false, false) => return None,
    }
    let tasks = broken["all_tasks"].as_array()?;
    let free = |&task: &usize| tasks[task]["dependent_event"] == EVENT_INVALID;
    broken["first_tasks"] = (2..tasks.len()).filter(free).collect();
    Some(broken)
}

/// Every trigger and every wait is left out in turn, and put back, or replaced by one that orders the same tasks.
#[test]
fn what_is_left_out_is_put_back() {
    let (mut repaired, mut kinds) = (0, BTreeSet::new());
    for graph in safe_graphs(24).take(12) {
        for task in 2..graph["all_tasks"].as_array().expect("tasks").len() {
            for member in ["trigger_event", "dependent_event"] {
                let Some(broken) = left_out(&graph, task, member) else { continue };
                let (left, done) = healed(&json!({"ranks": [broken]}).to_string());
                assert_eq!(counts(&left), BTreeMap::new(), "{member} of {task}: {done:?} leave {left:?}");
                repaired += usize::from(!done.is_empty());
                kinds.extend(
                    done.iter().map(|repair| format!("{repair:?}").chars().take(4).collect::<String>()),
                );
            }
        }
    }
    assert!(repaired > 100, "{repaired}");
    assert!(kinds.len() > 2, "{kinds:?}");
}
