//! TD04 descending-ids: with one worker a rank, tasks run in the order of their ids.

use megakernel_ir::diagnostic::{Before, CycleStep, Witness};
use megakernel_ir::{Diagnostic, Rule};
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
                    CycleStep { task, then: Before::Queue(world.rank(task) as i64) },
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

/// Cycles of waits and queues over several ranks.
fn across_ranks(world: &World<'_, '_, '_>, findings: &mut Findings) {
    if runs_in_order(world) {
        return;
    }
    // Nodes are the tasks, then the events. A task leads to its event and to the next task of its rank.
    let tasks = world.tasks();
    let successors = |node: u32, index: usize| match node.checked_sub(tasks) {
        Some(event) => world.dependents.of(event).get(index).copied(),
        None => {
            let (_, number) = world.place(node);
            let next = (number >= 2)
                .then_some(node + 1)
                .filter(|&next| next < tasks && world.place(next).0 == world.place(node).0);
            let trigger = match world.triggers[node as usize] {
                Trigger::Event(event) => Some(tasks + event),
                _ => None,
            };
            [next, trigger].into_iter().flatten().nth(index)
        }
    };
    let nodes = (tasks + world.events()) as usize;
    let found = components(nodes, successors);
    // The lowest task that waits for another rank within a component.
    let across = |component: &[u32]| {
        let within = |task: &u32| component.binary_search(task).is_ok();
        component.iter().copied().filter(|&node| node < tasks).find_map(|task| {
            let event = world.dependent[task as usize].filter(|event| within(&(tasks + event)))?;
            let other = |producer: &&u32| within(producer) && world.rank(**producer) != world.rank(task);
            let producer = *world.producers.of(event).iter().find(other)?;
            Some((task, producer, event))
        })
    };
    let Some((task, producer, event)) = found.iter().filter_map(|component| across(component)).min() else {
        return;
    };
    findings.report(Rule::TD04, || {
        let steps: Vec<CycleStep> = shortest_cycle(nodes, task, |node, index| {
            // Through the edge in question and no other into the task.
            match node.checked_sub(tasks) {
                Some(other) if other == event => (index == 0).then_some(task),
                _ => successors(node, index),
            }
        })
        .iter()
        .filter(|&&node| node < tasks)
        .map(|&task| CycleStep { task, then: Before::Queue(world.rank(task) as i64) })
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
            .counters([event])
            .witness(Witness::Cycle { steps })
    });
}

/// Why each step of a cycle comes before the next: its event, if the next waits for that, or else the queue.
fn with_reasons(world: &World<'_, '_, '_>, mut steps: Vec<CycleStep>) -> Vec<CycleStep> {
    let next: Vec<u32> = steps.iter().cycle().skip(1).take(steps.len()).map(|step| step.task).collect();
    for (step, next) in steps.iter_mut().zip(next) {
        if let (Trigger::Event(event), Some(wait)) =
            (world.triggers[step.task as usize], world.dependent[next as usize])
            && event == wait
        {
            step.then = Before::Counter(event);
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
        for (rank, head) in heads.iter_mut().enumerate() {
            while *head < world.tasks_of(rank).end {
                let blocked =
                    world.dependent[*head as usize].is_some_and(|event| missing[event as usize] > 0);
                if blocked {
                    break;
                }
                if let Trigger::Event(event) = world.triggers[*head as usize] {
                    missing[event as usize] -= 1;
                }
                *head += 1;
                is_stuck = false;
            }
        }
        if is_stuck {
            return heads.iter().enumerate().all(|(rank, &head)| head == world.tasks_of(rank).end);
        }
    }
}
