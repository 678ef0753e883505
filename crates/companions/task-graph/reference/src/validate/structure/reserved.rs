//! TS01 reserved-tasks, TS02 reserved-events, TS03 event-type.

use megakernel_ir::Rule;
use megakernel_order::Findings;
use megakernel_task_graph::{EVENT_INVALID, Event, EventId, EventType, Task};

use crate::types::{BEGIN_TASK_GRAPH, TERMINATE, is_scheduler};
use crate::validate::rank::Rank;

pub(super) fn check(rank: &Rank<'_, '_>, findings: &mut Findings) {
    tasks(rank, findings);
    events(rank, findings);
}

fn tasks(rank: &Rank<'_, '_>, findings: &mut Findings) {
    let tasks = &rank.graph.all_tasks;
    if tasks.len() < 2 {
        let message = format!(
            "found {} tasks, required at least 2: task 0 is TERMINATE (0), task 1 is BEGIN_TASK_GRAPH (10)",
            tasks.len()
        );
        findings.broken(Rule::TS01, rank.at("/all_tasks"), message);
    }
    for (index, task) in tasks.iter().enumerate() {
        let wrong = match index {
            0 => terminate(task),
            1 => begin(task),
            _ => match task.task_type {
                TERMINATE => Some("only task 0 is TERMINATE (0)".to_owned()),
                BEGIN_TASK_GRAPH => Some("only task 1 is BEGIN_TASK_GRAPH (10)".to_owned()),
                kind if is_scheduler(kind) => {
                    Some(format!("type {kind} is the scheduler's own and stands for no task"))
                }
                _ => None,
            },
        };
        if let Some(wrong) = wrong {
            findings.broken(
                Rule::TS01,
                rank.at(&format!("/all_tasks/{index}")),
                format!("task {index}: {wrong}"),
            );
        }
    }
}

fn terminate(task: &Task<'_>) -> Option<String> {
    if task.task_type != TERMINATE {
        return Some(format!("found type {}, required TERMINATE (0)", task.task_type));
    }
    let has_events = task.trigger_event != EVENT_INVALID || task.dependent_event != EVENT_INVALID;
    has_events.then(|| format!("TERMINATE neither triggers nor waits; set both events to {EVENT_INVALID}"))
}

fn begin(task: &Task<'_>) -> Option<String> {
    if task.task_type != BEGIN_TASK_GRAPH {
        return Some(format!("found type {}, required BEGIN_TASK_GRAPH (10)", task.task_type));
    }
    if task.dependent_event != EVENT_INVALID {
        return Some(format!("BEGIN_TASK_GRAPH waits for no event; set dependent_event to {EVENT_INVALID}"));
    }
    match EventId::from_bits(task.trigger_event) {
        Some(EventId { position: 1, nvshmem: false, .. }) => None,
        _ => Some(format!("BEGIN_TASK_GRAPH triggers event 1 of its own rank, found {}", task.trigger_event)),
    }
}

fn events(rank: &Rank<'_, '_>, findings: &mut Findings) {
    let events = &rank.graph.all_events;
    if events.len() < 2 {
        let message = format!(
            "found {} events, required at least 3: TERMINATION, LAUNCH_DEPENDENT_TASKS, END_OF_TASK_GRAPH",
            events.len()
        );
        findings.broken(Rule::TS02, rank.at("/all_events"), message);
    }
    let is_end = |event: &Event<'_>| event.event_type == EventType::EndOfTaskGraph as i64;
    let mut end = None;
    for (index, event) in events.iter().enumerate() {
        let is_empty = event.first_task_id == event.last_task_id;
        let mut wrong = |message: String| {
            findings.broken(Rule::TS02, rank.at(&format!("/all_events/{index}")), message);
        };
        match index {
            0 if event.event_type != EventType::Termination as i64
                || event.num_triggers != 1
                || !is_empty =>
            {
                wrong("event 0 has to be TERMINATION (911) with 1 trigger and an empty range".to_owned());
            }
            1 if event.event_type != EventType::LaunchDependentTasks as i64
                || event.num_triggers != 1
                || event.first_task_id != 2
                || usize::try_from(event.last_task_id) != Ok(rank.graph.all_tasks.len()) =>
            {
                wrong(format!(
                    "event 1 has to be LAUNCH_DEPENDENT_TASKS (903) with 1 trigger and the range [2, {}), all tasks from 2 on",
                    rank.graph.all_tasks.len()
                ));
            }
            0 | 1 => {}
            _ if is_end(event) => {
                if let Some(first) = end.replace(index) {
                    wrong(format!("event {first} is END_OF_TASK_GRAPH (910) already; there is exactly one"));
                } else if !is_empty {
                    wrong(format!(
                        "END_OF_TASK_GRAPH launches no task: found the range [{}, {}), required an empty one",
                        event.first_task_id, event.last_task_id
                    ));
                }
            }
            _ if event.event_type != EventType::Empty as i64 => {
                let message = format!(
                    "event {index} has type {}, required EMPTY (900): event 1 launches all tasks, and each waits for its own event",
                    event.event_type
                );
                findings.broken(Rule::TS03, rank.at(&format!("/all_events/{index}/event_type")), message);
            }
            _ => {}
        }
    }
    if end.is_none() && events.len() >= 2 {
        let message = "no event is END_OF_TASK_GRAPH (910): an iteration would never end".to_owned();
        findings.broken(Rule::TS02, rank.at("/all_events"), message);
    }
}
