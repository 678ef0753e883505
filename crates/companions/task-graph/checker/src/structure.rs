//! TS, and the warnings that need nothing else.

use std::collections::BTreeSet;

use megakernel_ir::Rule;
use megakernel_task_graph::{
    EVENT_INVALID, Event, EventId, EventType, MAX_DIMS, MAX_INPUTS, MAX_OUTPUTS, MAX_OUTPUTS_EARLIER, Task,
    Tile, element_bits,
};

use super::{Findings, Subject, is_put};

/// The put of the current generator, which signals.
const SIGNALLING: i64 = 301;

/// Every TS rule, and TX01, without which ids mean nothing.
pub fn errors(subject: &Subject<'_>) -> Findings {
    let mut found = Findings::new();
    for graph in 0..subject.graphs.len() {
        let mut here = Findings::new();
        let mut report = |rule: Rule, rest: String| {
            here.insert((rule, subject.at(graph, &rest)));
        };
        reserved(subject, graph, &mut report);
        for (t, task) in subject.tasks(graph).iter().enumerate() {
            if t >= 2 {
                ids(subject, graph, t, task, &mut report);
            }
            records(subject, graph, t, task, &mut report);
        }
        first_tasks(subject, graph, &mut report);
        // Ids that mean nothing break the ranges of events too, which says nothing new.
        let dangling = here
            .iter()
            .any(|&(rule, _)| matches!(rule, Rule::TS01 | Rule::TS02 | Rule::TS03 | Rule::TS04 | Rule::TS05));
        here.retain(|(rule, _)| !dangling || *rule != Rule::TS06);
        found.extend(here);
    }
    if !subject.bare {
        found.extend(ranks(subject));
    }
    found
}

type Report<'r> = &'r mut dyn FnMut(Rule, String);

fn reserved(subject: &Subject<'_>, graph: usize, report: Report<'_>) {
    let (tasks, Some(whole)) = (subject.tasks(graph), subject.graphs.get(graph)) else { return };
    let rank = subject.rank(graph);
    let begins = EventId { rank, position: 1, nvshmem: false }.bits();
    for (t, task) in tasks.iter().enumerate() {
        let good = match t {
            0 => (task.task_type, task.trigger_event) == (0, EVENT_INVALID),
            1 => (task.task_type, task.trigger_event) == (10, begins),
            _ => !matches!(task.task_type, 0 | 10 | 200..=203),
        };
        if !good || (t < 2 && task.dependent_event != EVENT_INVALID) {
            report(Rule::TS01, format!("/all_tasks/{t}"));
        }
    }
    if tasks.len() < 2 {
        report(Rule::TS01, "/all_tasks".to_owned());
    }
    if whole.all_events.len() < 2 {
        report(Rule::TS02, "/all_events".to_owned());
    }
    let mut ends = 0;
    for (e, event) in whole.all_events.iter().enumerate() {
        let kind = EventType::from_code(event.event_type);
        let range = (event.first_task_id, event.last_task_id);
        let all = (2, tasks.len() as i64);
        let good = match e {
            0 => kind == Some(EventType::Termination) && event.num_triggers == 1 && range == (0, 0),
            1 => kind == Some(EventType::LaunchDependentTasks) && event.num_triggers == 1 && range == all,
            _ if kind == Some(EventType::EndOfTaskGraph) => {
                ends += 1;
                ends == 1 && range.0 == range.1
            }
            _ => true,
        };
        if !good {
            report(Rule::TS02, format!("/all_events/{e}"));
        } else if e >= 2 && !matches!(kind, Some(EventType::Empty | EventType::EndOfTaskGraph)) {
            report(Rule::TS03, format!("/all_events/{e}/event_type"));
        }
        if e >= 2 && kind == Some(EventType::Empty) && !range_holds(subject, graph, e, event) {
            report(Rule::TS06, format!("/all_events/{e}"));
        }
    }
    if ends == 0 {
        report(Rule::TS02, "/all_events".to_owned());
    }
}

/// The tasks that depend on the event are exactly those of its range.
fn range_holds(subject: &Subject<'_>, graph: usize, position: usize, event: &Event<'_>) -> bool {
    let tasks = subject.tasks(graph);
    let dependents: BTreeSet<i64> = (0..tasks.len())
        .filter(|&t| tasks.get(t).and_then(|task| subject.dependent(task)) == Some(position))
        .map(|t| t as i64)
        .collect();
    // A range far beyond the tasks need not be counted through.
    let length = event.last_task_id.saturating_sub(event.first_task_id).max(0);
    dependents.len() as i64 == length
        && dependents.iter().all(|t| (event.first_task_id..event.last_task_id).contains(t))
}

fn ids(subject: &Subject<'_>, graph: usize, t: usize, task: &Task<'_>, report: Report<'_>) {
    let own = subject.rank(graph);
    let kind = |graph: usize, position: u32| {
        let events = subject.graphs.get(graph).map(|graph| &graph.all_events);
        let event = events.and_then(|events| events.get(position as usize));
        event.filter(|_| position >= 2).and_then(|event| EventType::from_code(event.event_type))
    };
    if task.trigger_event != EVENT_INVALID {
        let at = format!("/all_tasks/{t}/trigger_event");
        match EventId::from_bits(task.trigger_event) {
            Some(id) if id.nvshmem == is_put(task) && (id.nvshmem || id.rank == own) => {
                let target = subject.graph_of(id.rank);
                let known = target.map(|graph| kind(graph, id.position));
                let may = |kind| matches!(kind, Some(EventType::Empty | EventType::EndOfTaskGraph));
                if known.is_some_and(|kind| !may(kind)) {
                    report(Rule::TS04, at);
                }
            }
            _ => report(Rule::TS05, at),
        }
    }
    if task.dependent_event != EVENT_INVALID {
        let at = format!("/all_tasks/{t}/dependent_event");
        match EventId::from_bits(task.dependent_event) {
            Some(id) if id.nvshmem == signalled(subject, graph, id.position) && id.rank == own => {
                if kind(graph, id.position) != Some(EventType::Empty) {
                    report(Rule::TS04, at);
                }
            }
            _ => report(Rule::TS05, at),
        }
    }
}

/// Whether a put signals an event of a graph: one that there is, or one of its own the same event of a rank that there is not.
fn signalled(subject: &Subject<'_>, graph: usize, position: u32) -> bool {
    (0..subject.graphs.len()).any(|from| {
        subject.tasks(from).iter().filter(|task| task.task_type == SIGNALLING).any(|task| {
            EventId::from_bits(task.trigger_event).is_some_and(|id| {
                id.position == position && subject.graph_of(id.rank).unwrap_or(from) == graph
            })
        })
    })
}

fn records(subject: &Subject<'_>, graph: usize, t: usize, task: &Task<'_>, report: Report<'_>) {
    let extended =
        subject.tasks(graph).first().is_some_and(|task| metadata(task).iter().any(Option::is_some));
    let most = if extended { MAX_OUTPUTS } else { MAX_OUTPUTS_EARLIER };
    for (name, tiles, most) in [("inputs", task.inputs(), MAX_INPUTS), ("outputs", task.outputs(), most)] {
        if tiles.len() > most {
            report(Rule::TS08, format!("/all_tasks/{t}/{name}"));
        }
        for (n, tile) in tiles.iter().enumerate() {
            if tile.dims.len() > MAX_DIMS {
                report(Rule::TS08, format!("/all_tasks/{t}/{name}/{n}/dims"));
            } else if !record_holds(tile) {
                report(Rule::TS09, format!("/all_tasks/{t}/{name}/{n}"));
            }
        }
    }
    let given = metadata(task);
    if !extended {
        let names = ["expert_offset", "kv_idx", "merge_task_offset", "request_id", "task_offset"];
        for (name, _) in names.iter().zip(given).filter(|(_, member)| member.is_some()) {
            report(Rule::TS10, format!("/all_tasks/{t}/{name}"));
        }
    } else if given.iter().any(Option::is_none) {
        report(Rule::TS10, format!("/all_tasks/{t}"));
    } else if let [Some(expert), Some(kv), Some(merge), Some(request), Some(offset)] = given {
        let mut views = vec![
            ("expert_offset", i32::try_from(expert).is_ok()),
            ("merge_task_offset", i32::try_from(merge).is_ok()),
            ("task_offset", offset == expert),
        ];
        let fits = (-32768..=65535).contains(&kv);
        views.push(("kv_idx", fits && kv.rem_euclid(65536) == (expert >> 16).rem_euclid(65536)));
        views.push((
            "request_id",
            i16::try_from(request).is_ok() && request.rem_euclid(65536) == expert.rem_euclid(65536),
        ));
        for (name, _) in views.iter().filter(|(_, agrees)| !agrees) {
            report(Rule::TS10, format!("/all_tasks/{t}/{name}"));
        }
    }
}

fn metadata(task: &Task<'_>) -> [Option<i64>; 5] {
    [task.expert_offset.0, task.kv_idx.0, task.merge_task_offset.0, task.request_id.0, task.task_offset.0]
}

fn record_holds(tile: &Tile<'_>) -> bool {
    if tile.is_null() {
        let known = tile.data_type == 999 || element_bits(tile.data_type).is_some();
        return known && tile.offset == 0 && tile.dims.is_empty() && tile.strides.is_empty();
    }
    tile.dims.len() == tile.strides.len()
        && !tile.dims.is_empty()
        && tile.dims.iter().all(|&extent| extent >= 1)
        && tile.strides.iter().all(|&stride| stride >= 0)
        && element_bits(tile.data_type).is_some()
}

fn first_tasks(subject: &Subject<'_>, graph: usize, report: Report<'_>) {
    let Some(whole) = subject.graphs.get(graph) else { return };
    let free =
        |(t, task): (usize, &Task<'_>)| (t >= 2 && task.dependent_event == EVENT_INVALID).then_some(t as i64);
    let expected: Vec<i64> = whole.all_tasks.iter().enumerate().filter_map(free).collect();
    let found = &whole.first_tasks;
    let wrong = (0..found.len()).find(|&n| found.get(n) != expected.get(n));
    match wrong {
        Some(n) => report(Rule::TS07, format!("/first_tasks/{n}")),
        None if found.len() < expected.len() => report(Rule::TS07, "/first_tasks".to_owned()),
        None => {}
    }
}

/// TX01: the ids of a graph carry its own rank, and no rank that is not there.
fn ranks(subject: &Subject<'_>) -> Findings {
    let mut found = Findings::new();
    for (r, graph) in subject.graphs.iter().enumerate() {
        let wild = graph.all_tasks.iter().any(|task| {
            let id = EventId::from_bits(task.trigger_event);
            id.is_some_and(|id| id.nvshmem && usize::from(id.rank) >= subject.graphs.len())
        });
        if usize::from(subject.rank(r)) != r || wild {
            found.insert((Rule::TX01, format!("/ranks/{r}")));
        }
    }
    found
}

/// TW01, TW02 and TW04.
pub fn warnings(subject: &Subject<'_>) -> Findings {
    let mut found = Findings::new();
    for graph in 0..subject.graphs.len() {
        let tasks = subject.tasks(graph);
        for (t, task) in tasks.iter().enumerate() {
            if task.known_type().is_none() {
                found.insert((Rule::TW01, subject.at(graph, &format!("/all_tasks/{t}/task_type"))));
            }
        }
        let events = subject.graphs.get(graph).map_or(0, |graph| graph.all_events.len());
        for e in 2..events {
            let waited = tasks.iter().any(|task| subject.dependent(task) == Some(e));
            let everyone = (0..subject.graphs.len()).flat_map(|graph| subject.tasks(graph));
            let triggered = everyone.into_iter().any(|task| subject.trigger(task) == Some((graph, e)));
            let end = subject
                .graphs
                .get(graph)
                .and_then(|graph| graph.all_events.get(e))
                .is_some_and(|event| event.event_type == EventType::EndOfTaskGraph as i64);
            if !waited && !triggered && !end {
                found.insert((Rule::TW02, subject.at(graph, &format!("/all_events/{e}"))));
            }
        }
    }
    if subject.incomplete() {
        found.insert((Rule::TW04, String::new()));
    }
    found
}
