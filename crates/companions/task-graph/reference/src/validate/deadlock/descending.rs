//! TD04 descending-ids: with one worker a rank, tasks run in the order of their ids.

use megakernel_ir::diagnostic::{Before, CycleStep, Witness};
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::Findings;
use megakernel_order::cycles::{components, shortest_cycle};

use crate::validate::deadlock::cycles::OnCycle;
use crate::validate::world::{Trigger, World};

pub(super) fn check(world: &World<'_, '_, '_>, on_cycle: &OnCycle, findings: &mut Findings) {
    let mut is_any = false;
    for event in 0..world.events() {
        let Some(&first) = world.dependents.of(event).first() else { continue };
        let rank = world.tasks_of(world.rank(first));
        let (producers, dependents) = (world.producers.of(event), world.dependents.of(event));
        let highest = |counts: &dyn Fn(u32) -> bool| {
            producers.iter().rev().copied().find(|&task| rank.contains(&task) && counts(task))
        };
        let any = highest(&|_| true);
        if any.is_none_or(|producer| producer <= first) {
            continue;
        }
        // A pair on a cycle is TD03's.
        let off_cycle = highest(&|task| !on_cycle.joins(world, event, task));
        for &task in dependents {
            let producer = if on_cycle.joins(world, event, task) { off_cycle } else { any };
            let Some(producer) = producer.filter(|&producer| producer > task) else { continue };
            is_any = true;
            findings.report(Rule::TD04, || {
                let message = format!(
                    "{} waits for {}, which comes after it in the queue of a worker that holds both; number tasks so that none waits for a later one",
                    world.task_name(task),
                    world.task_name(producer)
                );
                let steps = vec![
                    CycleStep { task: task.into(), then: Before::Queue(world.rank(task) as i64) },
                    CycleStep { task: producer.into(), then: Before::Counter(event.into()) },
                ];
                Diagnostic::new(Rule::TD04, world.at_task(task, "/dependent_event"), message)
                    .tasks([task, producer].map(TaskId::from))
                    .counters([event.into()])
                    .witness(Witness::Cycle { steps })
            });
        }
    }
    if world.ranks.len() > 1 && !world.is_partial && !is_any && !on_cycle.is_any() {
        across_ranks(world, findings);
    }
}

/// Cycles of waits, meetings and queues over several ranks.
fn across_ranks(world: &World<'_, '_, '_>, findings: &mut Findings) {
    if runs_in_order(world) {
        return;
    }
    // Nodes are the tasks, then events and meetings. A task leads to its event, to the next task of its rank, and to the meeting of that.
    let tasks = world.tasks();
    let nodes = (tasks + world.events() + world.meetings.len()) as usize;
    let meeting = |task: u32| world.meetings.of(task).map(|meeting| tasks + world.events() + meeting);
    let successors = |node: u32, index: usize| match node.checked_sub(tasks) {
        Some(wait) => {
            let waiters = world.waiters(wait);
            let met = || waiters.iter().filter_map(|&task| meeting(task)).filter(|&other| other != node);
            waiters.get(index).copied().or_else(|| met().nth(index - waiters.len()))
        }
        None => {
            let next = next(world, node);
            let trigger = match world.triggers[node as usize] {
                Trigger::Event(event) => Some(tasks + event),
                _ => None,
            };
            [next, next.and_then(meeting), trigger].into_iter().flatten().nth(index)
        }
    };
    let found = components(nodes, successors);
    // The lowest task within a component that waits for another rank, by itself or through a mate.
    let across = |component: &[u32]| {
        let within = |node: &u32| component.binary_search(node).is_ok();
        component.iter().copied().filter(|&node| node < tasks).find_map(|task| {
            let own = world.dependent[task as usize].and_then(|event| {
                let other = |producer: &&u32| within(producer) && world.rank(**producer) != world.rank(task);
                within(&(tasks + event))
                    .then(|| world.producers.of(event).iter().copied().find(|p| other(&p)))?
            });
            let mates = world.meetings.of(task).map_or(&[][..], |meeting| world.meetings.tasks(meeting));
            let of_mates = || {
                mates.iter().filter(|&&mate| mate != task).find_map(|&mate| {
                    let before = mate.checked_sub(1).filter(|&before| next(world, before) == Some(mate));
                    let producers = world.dependent[mate as usize].map_or(&[][..], |e| world.producers.of(e));
                    before.into_iter().chain(producers.iter().copied()).find(|p| within(p))
                })
            };
            own.or_else(of_mates).map(|producer| (task, producer))
        })
    };
    let Some((task, producer)) = found.iter().filter_map(|component| across(component)).min() else {
        return;
    };
    findings.report(Rule::TD04, || {
        let steps: Vec<CycleStep> = shortest_cycle(nodes, task, successors)
            .iter()
            .filter(|&&node| node < tasks)
            .map(|&task| CycleStep { task: task.into(), then: Before::Queue(world.rank(task) as i64) })
            .collect();
        let steps = with_reasons(world, steps);
        let message = format!(
            "{} waits for {}, which in the queues of single workers comes after it, over {} ranks; order the tasks of all ranks alike",
            world.task_name(task),
            world.task_name(producer),
            steps.iter().map(|step| world.rank(step.task.into())).collect::<std::collections::BTreeSet<_>>().len()
        );
        Diagnostic::new(Rule::TD04, world.at_task(task, "/dependent_event"), message)
            .tasks([task, producer].map(TaskId::from))
            .counters(world.dependent[task as usize].map(CounterId::from))
            .witness(Witness::Cycle { steps })
    });
}

/// The task that stands behind another one in the queue of a single worker.
fn next(world: &World<'_, '_, '_>, task: u32) -> Option<u32> {
    let (rank, number) = world.place(task);
    (number >= 2 && task + 1 < world.tasks_of(rank).end).then_some(task + 1)
}

/// Why each step of a cycle comes before the next: its event, if the next or a mate of it waits for that, or else the queue.
fn with_reasons(world: &World<'_, '_, '_>, mut steps: Vec<CycleStep>) -> Vec<CycleStep> {
    let next: Vec<u32> =
        steps.iter().cycle().skip(1).take(steps.len()).map(|step| step.task.into()).collect();
    for (step, next) in steps.iter_mut().zip(next) {
        let own = [next];
        let mates = world.meetings.of(next).map_or(&own[..], |meeting| world.meetings.tasks(meeting));
        if let Trigger::Event(event) = world.triggers[step.task.index()]
            && mates.iter().any(|&mate| world.dependent[mate as usize] == Some(event))
        {
            step.then = Before::Counter(event.into());
        }
    }
    steps
}

/// Whether one worker a rank gets through, each event taken to wait for all tasks that trigger it.
fn runs_in_order(world: &World<'_, '_, '_>) -> bool {
    let mut missing: Vec<usize> = (0..world.events()).map(|event| world.producers.of(event).len()).collect();
    let mut heads: Vec<u32> = (0..world.ranks.len()).map(|rank| world.tasks_of(rank).start).collect();
    loop {
        let mut is_stuck = true;
        for rank in 0..heads.len() {
            while heads[rank] < world.tasks_of(rank).end {
                let head = heads[rank];
                let waits = |task: u32| {
                    world.dependent[task as usize].is_some_and(|event| missing[event as usize] > 0)
                };
                let has_come = |mate: u32| {
                    let at = heads[world.rank(mate)];
                    at > mate || at == mate && !waits(mate)
                };
                let meeting =
                    world.meetings.of(head).map_or(&[][..], |meeting| world.meetings.tasks(meeting));
                if waits(head) || !meeting.iter().all(|&mate| has_come(mate)) {
                    break;
                }
                if let Trigger::Event(event) = world.triggers[head as usize] {
                    missing[event as usize] -= 1;
                }
                heads[rank] += 1;
                is_stuck = false;
            }
        }
        if is_stuck {
            return heads.iter().enumerate().all(|(rank, &head)| head == world.tasks_of(rank).end);
        }
    }
}
