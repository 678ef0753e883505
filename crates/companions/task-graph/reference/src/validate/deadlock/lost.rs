//! TD05 lost-task: every task leads to the end of an iteration.

use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::Findings;

use crate::types;
use crate::validate::world::{Trigger, World};

pub(super) fn check(world: &World<'_, '_, '_>, findings: &mut Findings) {
    let mut reaches = vec![false; world.events()];
    let mut open = Vec::new();
    for event in world.event_ids().filter(|&event| world.is_end(event)) {
        reaches[event.index()] = true;
        open.push(event);
    }
    // Where a trigger of another rank leads is not known: to the end, for all that can be said.
    let is_elsewhere = |task: TaskId| {
        world.triggers[task.index()] == Trigger::Elsewhere
            || world.is_partial && types::is_collective(world.task(task).task_type)
    };
    let elsewhere = world.task_ids().filter(|&task| is_elsewhere(task));
    let mut reach = |event: Option<CounterId>, open: &mut Vec<CounterId>| {
        if let Some(event) = event
            && !std::mem::replace(&mut reaches[event.index()], true)
        {
            open.push(event);
        }
    };
    for task in elsewhere {
        reach(world.dependent[task.index()], &mut open);
    }
    while let Some(event) = open.pop() {
        for &task in world.producers.of(event) {
            reach(world.dependent[task.index()], &mut open);
            // What comes before a mate comes before the task.
            for &mate in world.mates(task) {
                reach(world.dependent[mate.index()], &mut open);
            }
        }
    }
    for rank in 0..world.ranks.len() {
        for task in world.tasks_of(rank).skip(2) {
            let wrong = match world.triggers[task.index()] {
                Trigger::Elsewhere => continue,
                Trigger::Event(event) if reaches[event.index()] => continue,
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
                Diagnostic::new(Rule::TD05, world.at_task(task, "/trigger_event"), message).tasks([task])
            });
        }
    }
}
