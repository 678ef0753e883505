//! Class TX: whether the graphs of several ranks fit together. TX03 is among the races.

pub mod iteration;

use std::collections::BTreeMap;

use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::Findings;
use megakernel_task_graph::EventId;

use crate::types::{NVSHMEM_COPY, NVSHMEM_PUT};
use crate::validate::rank::Rank;
use crate::validate::world::World;

/// TX01 rank-mismatch, of the graphs of a system.
pub fn check_ids(ranks: &[Rank<'_, '_>], findings: &mut Findings) {
    for rank in ranks {
        let stranger = rank.graph.all_tasks.iter().enumerate().find_map(|(index, task)| {
            let id = EventId::from_bits(task.trigger_event)?;
            (id.nvshmem && usize::from(id.rank) >= ranks.len()).then_some((index, id.rank))
        });
        let message = match stranger {
            _ if usize::from(rank.declared) != rank.number => format!(
                "the event ids are those of rank {}, but the graph stands in the place of rank {}; list the graphs in the order of their ranks",
                rank.declared, rank.number
            ),
            Some((task, other)) => format!(
                "task {task} copies to rank {other}, but the system has {} ranks; add its graph",
                ranks.len()
            ),
            None => continue,
        };
        findings.broken(Rule::TX01, format!("/ranks/{}", rank.number), message);
    }
}

/// TX02 misaligned-event.
pub fn check_events(world: &World<'_, '_, '_>, findings: &mut Findings) {
    for event in world.event_ids() {
        if let Some((wrong, tasks)) = misaligned(world, event) {
            findings.report(Rule::TX02, || {
                let message = format!("{} is triggered by {wrong}", world.event_name(event));
                Diagnostic::new(Rule::TX02, world.at_event(event, ""), message).tasks(tasks).counters([event])
            });
        }
    }
}

/// What is wrong with the triggers of an event that copies trigger.
pub fn misaligned(world: &World<'_, '_, '_>, event: CounterId) -> Option<(String, Vec<TaskId>)> {
    let producers = world.producers.of(event);
    if world.is_from_elsewhere(event) {
        return None;
    }
    if let Some(found) = uneven(world, producers) {
        return Some(found);
    }
    let is_copy = |task: TaskId| world.task(task).task_type == NVSHMEM_COPY;
    let copy = producers.iter().copied().find(|&task| is_copy(task))?;
    if let Some(other) = producers.iter().copied().find(|&task| !is_copy(task)) {
        let message = format!(
            "{} and by {}; an event that copies trigger is triggered by nothing else",
            world.task_name(copy),
            world.task_name(other)
        );
        return Some((message, vec![copy, other]));
    }
    let mut by_rank = BTreeMap::new();
    for &task in producers {
        if let Some(before) = by_rank.insert(world.rank(task), task) {
            let message = format!(
                "{} and by {}; each rank copies once",
                world.task_name(before),
                world.task_name(task)
            );
            return Some((message, vec![before, task]));
        }
    }
    None
}

/// Ranks of which one puts more often than another, with a put of each.
fn uneven(world: &World<'_, '_, '_>, producers: &[TaskId]) -> Option<(String, Vec<TaskId>)> {
    let mut by_rank = BTreeMap::<usize, (TaskId, usize)>::new();
    for &task in producers.iter().filter(|&&task| world.task(task).task_type == NVSHMEM_PUT) {
        by_rank.entry(world.rank(task)).or_insert((task, 0)).1 += 1;
    }
    let (&first, &(put, count)) = by_rank.first_key_value()?;
    let (&rank, &(other, more)) = by_rank.iter().find(|(_, (_, other))| *other != count)?;
    let message = format!(
        "{count} puts of rank {first}, among them {}, and {more} of rank {rank}, among them {}; every rank puts as often",
        world.task_name(put),
        world.task_name(other)
    );
    Some((message, vec![put, other]))
}
