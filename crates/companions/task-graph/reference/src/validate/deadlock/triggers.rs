//! TD01 event-without-producer, TD02 threshold-above-producers, TR01 partial-trigger.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use megakernel_ir::diagnostic::{Event, Witness};
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::Findings;

use crate::validate::world::{Trigger, World};

/// The longest schedule that a witness spells out.
const MOST_STEPS: usize = 10_000;
/// In larger graphs, only the first finding gets a schedule: each is a walk over the graph.
const MANY_TASKS: usize = 10_000;

pub(super) fn check(world: &World<'_, '_, '_>, findings: &mut Findings) {
    for event in world.event_ids().filter(|&event| world.is_awaited(event)) {
        if world.is_from_elsewhere(event) {
            continue;
        }
        let required = world.producers.of(event).len();
        let found = world.event(event).num_triggers;
        let place = || world.at_event(event, "/num_triggers");
        let waiting = || match world.dependents.of(event) {
            [] => "the end of the iteration".to_owned(),
            [task] => world.task_name(*task),
            [task, others @ ..] => format!("{} and {} more", world.task_name(*task), others.len()),
        };
        let stuck = |rule: Rule, message: String| {
            let then = format!(
                "{} never reaches its threshold: {} waits forever",
                world.event_name(event),
                waiting()
            );
            Diagnostic::new(rule, place(), message)
                .tasks(world.dependents.of(event).first().copied())
                .counters([event])
                .witness(Witness::Schedule { events: Vec::new(), then })
        };
        if required == 0 {
            findings.report(Rule::TD01, || {
                let message = format!(
                    "{} waits for {}, which no task triggers; make the tasks that have to come before trigger it",
                    waiting(),
                    world.event_name(event)
                );
                stuck(Rule::TD01, message)
            });
        } else if i128::from(found) > required as i128 {
            findings.report(Rule::TD02, || {
                let message = format!(
                    "{} waits for {found} triggers of {}, which {required} tasks trigger; set num_triggers to {required}",
                    waiting(),
                    world.event_name(event)
                );
                stuck(Rule::TD02, message)
            });
        } else if i128::from(found) < required as i128 {
            let is_first = !findings.has(Rule::TR01);
            findings.report(Rule::TR01, || {
                let message = format!(
                    "{} waits for {found} of the {required} tasks that trigger {}, whichever come first; set num_triggers to {required}",
                    waiting(),
                    world.event_name(event)
                );
                let late = world.producers.of(event).last().copied();
                let dependent = world.dependents.of(event).first().copied();
                let diagnostic = Diagnostic::new(Rule::TR01, place(), message)
                    .tasks(dependent.into_iter().chain(late))
                    .counters([event]);
                let schedule = match (is_first || world.tasks() <= MANY_TASKS, dependent, late) {
                    (true, Some(dependent), Some(late)) => overtaking(world, dependent, late),
                    _ => None,
                };
                match schedule {
                    Some((events, then)) => diagnostic.witness(Witness::Schedule { events, then }),
                    None => diagnostic,
                }
            });
        }
    }
}

/// A schedule in which a task starts although one that triggers its event has not run.
fn overtaking(world: &World<'_, '_, '_>, task: TaskId, late: TaskId) -> Option<(Vec<Event>, String)> {
    let mut counts = vec![0i64; world.events()];
    let threshold = |event: CounterId| world.event(event).num_triggers;
    let mut ready = BinaryHeap::new();
    for rank in 0..world.ranks.len() {
        let free = |task: &TaskId| world.dependent[task.index()].is_none_or(|event| threshold(event) <= 0);
        ready.extend(world.tasks_of(rank).skip(2).filter(free).map(Reverse));
    }
    let mut steps = Vec::new();
    while let Some(Reverse(next)) = ready.pop() {
        if next == late {
            continue;
        }
        steps.push(Event::Start(next));
        if next == task {
            let then =
                format!("{} has started although {} has not", world.task_name(task), world.task_name(late));
            return Some((steps, then));
        }
        steps.push(Event::Finish(next));
        if steps.len() > MOST_STEPS {
            return None;
        }
        if let Trigger::Event(event) = world.triggers[next.index()] {
            counts[event.index()] += 1;
            if counts[event.index()] == threshold(event) {
                ready.extend(world.dependents.of(event).iter().copied().map(Reverse));
            }
        }
    }
    None
}
