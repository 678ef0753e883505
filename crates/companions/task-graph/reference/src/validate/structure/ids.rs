//! TS04 dangling-event, TS05 event-id.

use megakernel_ir::Rule;
use megakernel_order::Findings;
use megakernel_task_graph::{EVENT_INVALID, EventId, EventType, Task};

use crate::types::{self, NVSHMEM_PUT};
use crate::validate::rank::Rank;

/// Of each event of each rank, whether an NVSHMEM_ALLGATHER_STRIDED_PUT triggers it: one of the document, or, since the peers may
/// not be there, one of its own graph the event at the same position of a rank that is not.
pub(super) fn signalled(ranks: &[Rank<'_, '_>]) -> Vec<Vec<bool>> {
    let mut signalled: Vec<Vec<bool>> =
        ranks.iter().map(|rank| vec![false; rank.graph.all_events.len()]).collect();
    for (own, rank) in ranks.iter().enumerate() {
        let puts = rank.graph.all_tasks.iter().filter(|task| task.task_type == NVSHMEM_PUT);
        for id in puts.filter_map(|task| EventId::from_bits(task.trigger_event)) {
            let named = Rank::named(ranks, id.rank);
            let target = named.and_then(|named| ranks.iter().position(|one| one.number == named.number));
            let marks = signalled.get_mut(target.unwrap_or(own));
            if let Some(mark) = marks.and_then(|marks| marks.get_mut(id.position as usize)) {
                *mark = true;
            }
        }
    }
    signalled
}

pub(super) fn check(
    rank: &Rank<'_, '_>,
    ranks: &[Rank<'_, '_>],
    signalled: &[bool],
    findings: &mut Findings,
) {
    for (index, task) in rank.graph.all_tasks.iter().enumerate().skip(2) {
        for (member, bits) in
            [("trigger_event", task.trigger_event), ("dependent_event", task.dependent_event)]
        {
            if bits == EVENT_INVALID {
                continue;
            }
            let is_trigger = member == "trigger_event";
            let wrong = match well_formed(rank, task, bits, is_trigger, signalled) {
                Err(message) => Some((Rule::TS05, message)),
                Ok(id) => dangling(rank, ranks, id, is_trigger).map(|message| (Rule::TS04, message)),
            };
            if let Some((rule, message)) = wrong {
                findings.broken(
                    rule,
                    rank.at(&format!("/all_tasks/{index}/{member}")),
                    format!("task {index}: {message}"),
                );
            }
        }
    }
}

/// Whether the bits above the position are those that this task can have.
fn well_formed(
    rank: &Rank<'_, '_>,
    task: &Task<'_>,
    bits: i64,
    is_trigger: bool,
    signalled: &[bool],
) -> Result<EventId, String> {
    let Some(id) = EventId::from_bits(bits) else {
        return Err(format!(
            "{bits:#x} is no event id: bits 0 to 31 are the position, 32 to 47 the rank, and above stands the NVSHMEM tag (0x1e00) or nothing"
        ));
    };
    let is_put = is_trigger && types::is_put(task.task_type);
    let is_signalled = !is_trigger && signalled.get(id.position as usize).is_some_and(|&mark| mark);
    match id.nvshmem {
        true if is_trigger && !is_put => Err(format!(
            "the NVSHMEM tag is for the triggers of tasks that write to other ranks, and {} is none",
            types::name(task.task_type)
        )),
        false if is_put => {
            Err(format!("the trigger of {} carries the NVSHMEM tag", types::name(task.task_type)))
        }
        true if !is_trigger && !is_signalled => Err(format!(
            "the NVSHMEM tag is for waiting on events that other ranks signal, and no put triggers event {}",
            id.position
        )),
        false if is_signalled && id.rank == rank.declared => Err(format!(
            "puts signal event {}: to wait for it, the id needs the NVSHMEM tag; set it to {}",
            id.position,
            EventId { nvshmem: true, ..id }.bits()
        )),
        _ if (!is_trigger || !id.nvshmem) && id.rank != rank.declared => Err(format!(
            "the id names rank {}, required {}, the rank of the event that task 1 triggers",
            id.rank, rank.declared
        )),
        _ => Ok(id),
    }
}

/// What is wrong with the event that a well-formed id names.
fn dangling(rank: &Rank<'_, '_>, ranks: &[Rank<'_, '_>], id: EventId, is_trigger: bool) -> Option<String> {
    let owner = match id.nvshmem {
        true => Rank::named(ranks, id.rank)?,
        false => rank,
    };
    let events = &owner.graph.all_events;
    let position = id.position;
    let Some(event) = events.get(position as usize) else {
        return Some(format!("there is no event {position}; rank {} has {}", id.rank, events.len()));
    };
    // Events of any other type from 2 on are TS03's.
    let is_end = event.event_type == EventType::EndOfTaskGraph as i64;
    let may_be = position > 1 && (is_trigger || !is_end);
    (!may_be).then(|| match is_trigger {
        true => format!(
            "event {position} is not for tasks to trigger; required EMPTY (900) or END_OF_TASK_GRAPH (910)"
        ),
        false => format!("event {position} is not for tasks to wait on; required EMPTY (900)"),
    })
}
