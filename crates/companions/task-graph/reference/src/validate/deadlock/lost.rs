//! TD05 lost-task: every task leads to the end of an iteration.

use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::Findings;

use crate::types;
use crate::validate::world::{Trigger, World};

pub(super) fn check(world: &World<'_, '_, '_>, findings: &mut Findings) {
    let mut reaches = vec![false; world.events() as usize];
    let mut open = Vec::new();
    for event in (0..world.events()).filter(|&event| world.is_end(event)) {
        reaches[event as usize] = true;
        open.push(event);
    }
    // Where a trigger of another rank leads is not known: to the end, for all that can be said.
    let is_elsewhere = |task: u32| {
        world.triggers[task as usize] == Trigger::Elsewhere
            || world.is_partial && types::is_collective(world.task(task).task_type)
    };
    let elsewhere = (0..world.tasks()).filter(|&task| is_elsewhere(task));
    let mut reach = |event: Option<u32>, open: &mut Vec<u32>| {
        if let Some(event) = event
            && !std::mem::replace(&mut reaches[event as usize], true)
        {
            open.push(event);
        }
    };
    for task in elsewhere {
        reach(world.dependent[task as usize], &mut open);
    }
    while let Some(event) = open.pop() {
        for &task in world.producers.of(event) {
            reach(world.dependent[task as usize], &mut open);
            // What comes before a mate comes before the task.
            for &mate in world.meetings.of(task).map_or(&[][..], |meeting| world.meetings.tasks(meeting)) {
                reach(world.dependent[mate as usize], &mut open);
            }
        }
    }
    for rank in 0..world.ranks.len() {
        for task in world.tasks_of(rank).skip(2) {
            let wrong = match world.triggers[task as usize] {
                Trigger::Elsewhere => continue,
                Trigger::Event(event) if reaches[event as usize] => continue,
                Trigger::Event(event) => {
                    format!("{}, from which nothing leads there", world.event_name(event))
                }
                Trigger::Nothing => "no event".to_owned(),
            };
            findings.report(Rule::TD05, || {
                let message = format!(
                    "{} triggers {wrong}: the iteration may end before it runs; make it trigger END_OF_TASK_GRAPH or what leads there",
                    world.task_name(task)
                );
                Diagnostic::new(Rule::TD05, world.at_task(task, "/trigger_event"), message).tasks([task.into()])
            });
        }
    }
}
