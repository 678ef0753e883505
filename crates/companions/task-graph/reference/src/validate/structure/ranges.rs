//! TS06 event-range, TS07 first-tasks.

use megakernel_ir::Rule;
use megakernel_order::Findings;
use megakernel_task_graph::{EVENT_INVALID, EventId, EventType};

use crate::validate::rank::Rank;

/// The dependents of an event, as far as a range can say them.
#[derive(Clone, Copy)]
struct Dependents {
    first: usize,
    last: usize,
    count: usize,
}

/// TS06, where all ids lead somewhere.
pub(super) fn check_events(rank: &Rank<'_, '_>, findings: &mut Findings) {
    let mut dependents: Vec<Option<Dependents>> = vec![None; rank.graph.all_events.len()];
    for (index, task) in rank.graph.all_tasks.iter().enumerate().skip(2) {
        let id = EventId::from_bits(task.dependent_event);
        let Some(slot) = id.and_then(|id| dependents.get_mut(id.position as usize)) else { continue };
        let before = slot.unwrap_or(Dependents { first: index, last: index, count: 0 });
        *slot = Some(Dependents { last: index, count: before.count + 1, ..before });
    }
    for (index, (event, dependents)) in rank.graph.all_events.iter().zip(dependents).enumerate() {
        if event.event_type != EventType::Empty as i64 {
            continue;
        }
        let (first, last) = (event.first_task_id, event.last_task_id);
        let required = match dependents {
            None if first == last => continue,
            None => "no task depends on it; required an empty range".to_owned(),
            Some(Dependents { first: from, last: to, count }) => {
                let is_range = to - from + 1 == count;
                if is_range && usize::try_from(first) == Ok(from) && usize::try_from(last) == Ok(to + 1) {
                    continue;
                }
                match is_range {
                    true => format!("the tasks that depend on it are [{from}, {})", to + 1),
                    false => format!(
                        "{count} tasks between {from} and {to} depend on it; number them without a gap, so that a range can name them"
                    ),
                }
            }
        };
        let message = format!("event {index} has the range [{first}, {last}), but {required}");
        findings.broken(Rule::TS06, rank.at(&format!("/all_events/{index}")), message);
    }
}

/// TS07.
pub(super) fn check_first_tasks(rank: &Rank<'_, '_>, findings: &mut Findings) {
    let tasks = rank.graph.all_tasks.iter().enumerate().skip(2);
    let mut required =
        tasks.filter(|(_, task)| task.dependent_event == EVENT_INVALID).map(|(index, _)| index);
    for (position, &found) in rank.graph.first_tasks.iter().enumerate() {
        let required = required.next();
        if required.is_none() || usize::try_from(found).ok() != required {
            let message = match required {
                Some(required) => format!(
                    "found task {found}, required task {required}: first_tasks lists, ascending, the tasks from 2 on that depend on no event"
                ),
                None => format!(
                    "found task {found}, required no further entry: every task that depends on no event is listed"
                ),
            };
            findings.broken(Rule::TS07, rank.at(&format!("/first_tasks/{position}")), message);
            return;
        }
    }
    if let Some(missing) = required.next() {
        let message = format!("task {missing} depends on no event and is not listed; add it");
        findings.broken(Rule::TS07, rank.at("/first_tasks"), message);
    }
}
