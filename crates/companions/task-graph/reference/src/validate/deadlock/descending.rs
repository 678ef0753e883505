//! TD04 descending-ids: with one worker a rank, tasks run in the order of their ids.

use megakernel_ir::diagnostic::{Before, CycleStep, Witness};
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::Findings;
use megakernel_order::cycles::{components, shortest_cycle};

use crate::validate::deadlock::cycles::OnCycle;
use crate::validate::world::{Trigger, World};

pub(super) fn check(world: &World<'_, '_, '_>, on_cycle: &OnCycle, findings: &mut Findings) {
    let mut is_any = false;
    for event in world.event_ids() {
        let Some(&first) = world.dependents.of(event).first() else { continue };
        let rank = world.rank(first);
        let (producers, dependents) = (world.producers.of(event), world.dependents.of(event));
        let highest = |counts: &dyn Fn(TaskId) -> bool| {
            producers.iter().rev().copied().find(|&task| world.rank(task) == rank && counts(task))
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
                    CycleStep { task, then: Before::Queue(rank as i64) },
                    CycleStep { task: producer, then: Before::Counter(event) },
                ];
                Diagnostic::new(Rule::TD04, world.at_task(task, "/dependent_event"), message)
                    .tasks([task, producer])
                    .counters([event])
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
    let tasks = world.tasks() as u32;
    let nodes = world.tasks() + world.waits();
    let of_wait = |wait: CounterId| tasks + u32::from(wait);
    let meeting = |task: TaskId| world.meeting(task).map(of_wait);
    let successors = |node: u32, index: usize| match node.checked_sub(tasks) {
        Some(wait) => {
            let waiters = world.waiters(wait.into());
            let met = || waiters.iter().filter_map(|&task| meeting(task)).filter(|&other| other != node);
            waiters.get(index).map(|&task| task.into()).or_else(|| met().nth(index - waiters.len()))
        }
        None => {
            let task = TaskId::from(node);
            let next = next(world, task);
            let trigger = match world.triggers[task.index()] {
                Trigger::Event(event) => Some(of_wait(event)),
                _ => None,
            };
            [next.map(u32::from), next.and_then(meeting), trigger].into_iter().flatten().nth(index)
        }
    };
    let found = components(nodes, successors);
    // The lowest task within a component that waits for another rank, by itself or through a mate.
    let across = |component: &[u32]| {
        let within = |node: u32| component.binary_search(&node).is_ok();
        component.iter().filter(|&&node| node < tasks).map(|&node| TaskId::from(node)).find_map(|task| {
            let own =
                world.dependent[task.index()].filter(|&event| within(of_wait(event))).and_then(|event| {
                    let mut producers = world.producers.of(event).iter().copied();
                    producers.find(|&other| within(other.into()) && world.rank(other) != world.rank(task))
                });
            let of_mates = || {
                world.mates(task).iter().filter(|&&mate| mate != task).find_map(|&mate| {
                    let before = mate.index().checked_sub(1).map(TaskId::at);
                    let before = before.filter(|&before| next(world, before) == Some(mate));
                    let producers = world.dependent[mate.index()].map_or(&[][..], |e| world.producers.of(e));
                    before.into_iter().chain(producers.iter().copied()).find(|&task| within(task.into()))
                })
            };
            own.or_else(of_mates).map(|producer| (task, producer))
        })
    };
    let Some((task, producer)) = found.iter().filter_map(|component| across(component)).min() else {
        return;
    };
    findings.report(Rule::TD04, || {
        let steps: Vec<CycleStep> = shortest_cycle(nodes, task.into(), successors)
            .iter()
            .filter(|&&node| node < tasks)
            .map(|&node| TaskId::from(node))
            .map(|task| CycleStep { task, then: Before::Queue(world.rank(task) as i64) })
            .collect();
        let steps = with_reasons(world, steps);
        let message = format!(
            "{} waits for {}, which in the queues of single workers comes after it, over {} ranks; order the tasks of all ranks alike",
            world.task_name(task),
            world.task_name(producer),
            steps.iter().map(|step| world.rank(step.task)).collect::<std::collections::BTreeSet<_>>().len()
        );
        Diagnostic::new(Rule::TD04, world.at_task(task, "/dependent_event"), message)
            .tasks([task, producer])
            .counters(world.dependent[task.index()])
            .witness(Witness::Cycle { steps })
    });
}

/// The task that stands behind another one in the queue of a single worker.
fn next(world: &World<'_, '_, '_>, task: TaskId) -> Option<TaskId> {
    let (rank, number) = world.place(task);
    let behind = TaskId::at(task.index() + 1);
    (number >= 2 && world.tasks_of(rank).next_back() >= Some(behind)).then_some(behind)
}

/// Why each step of a cycle comes before the next: its event, if the next or a mate of it waits for that, or else the queue.
fn with_reasons(world: &World<'_, '_, '_>, mut steps: Vec<CycleStep>) -> Vec<CycleStep> {
    let next: Vec<TaskId> = steps.iter().cycle().skip(1).take(steps.len()).map(|step| step.task).collect();
    for (step, next) in steps.iter_mut().zip(next) {
        let waits = |event| move |task: TaskId| world.dependent[task.index()] == Some(event);
        if let Trigger::Event(event) = world.triggers[step.task.index()]
            && world.mates(next).iter().copied().chain([next]).any(waits(event))
        {
            step.then = Before::Counter(event);
        }
    }
    steps
}

/// Whether one worker a rank gets through, each event taken to wait for all tasks that trigger it.
fn runs_in_order(world: &World<'_, '_, '_>) -> bool {
    let mut missing: Vec<usize> = world.event_ids().map(|event| world.producers.of(event).len()).collect();
    let mut queues: Vec<_> = (0..world.ranks.len()).map(|rank| world.tasks_of(rank)).collect();
    loop {
        let mut is_stuck = true;
        for rank in 0..queues.len() {
            while let Some(head) = queues[rank].clone().next() {
                let waits = |task: TaskId| {
                    world.dependent[task.index()].is_some_and(|event| missing[event.index()] > 0)
                };
                let has_come = |mate: TaskId| {
                    let at = queues[world.rank(mate)].clone().next();
                    at.is_none_or(|at| at > mate || at == mate && !waits(mate))
                };
                if waits(head) || !world.mates(head).iter().all(|&mate| has_come(mate)) {
                    break;
                }
                if let Trigger::Event(event) = world.triggers[head.index()] {
                    missing[event.index()] -= 1;
                }
                queues[rank].next();
                is_stuck = false;
            }
        }
        if is_stuck {
            return queues.iter_mut().all(|queue| queue.next().is_none());
        }
    }
}
