//! D06 queue-cycle: waits and the order of the queues together form no cycle across SMs.

use std::collections::{BTreeSet, HashMap};

use megakernel_ir::diagnostic::{Before, CycleStep, Witness};
use megakernel_ir::model::Program;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::cycles::{components, shortest_cycle};
use megakernel_order::{Findings, Graph};

use crate::validate::deadlock::d04::rotate_to_lowest;
use crate::validate::describe::Names;

/// Judges the rule on the edges that neither D04 nor D05 has taken.
pub(super) fn check(
    program: &Program<'_>,
    graph: &Graph,
    on_cycle: &[u32],
    broken_by_queue: &BTreeSet<(u32, u32)>,
    findings: &mut Findings,
) {
    let next_in_queue = queues(program);
    // Nodes are the tasks, then the counters. A task leads to its counter and to the next task of its queue.
    let tasks = graph.tasks();
    let same_cycle = |counter: u32, task: u32| {
        let number = on_cycle[counter as usize];
        number != 0 && number == on_cycle[graph.out[task as usize] as usize]
    };
    let successors = |node: u32, index: usize| {
        let task = node as usize;
        if task < tasks {
            let counter = tasks as u32 + graph.out[task];
            return [Some(counter), next_in_queue[task]].into_iter().flatten().nth(index);
        }
        let counter = node - tasks as u32;
        // An edge that is another rule's leads back to the counter, which adds nothing to any cycle.
        let task = *graph.waiters(counter).get(index)?;
        let taken = same_cycle(counter, task) || broken_by_queue.contains(&(counter, task));
        Some(if taken { node } else { task })
    };
    let nodes = tasks + graph.counters();
    let names = Names::new(program);
    for component in components(nodes, successors) {
        findings.report(Rule::D06, || {
            let cycle = shortest_cycle(nodes, component[0], successors);
            let steps = rotate_to_lowest(steps(program, &cycle, tasks));
            let involved: Vec<u32> = steps.iter().map(|step| step.task).collect();
            let first = involved.first().copied().unwrap_or_default();
            let message = format!(
                "{} and {} other tasks wait for each other in a cycle of waits and queue order",
                names.task(first),
                involved.len().saturating_sub(1),
            );
            Diagnostic::new(Rule::D06, format!("/tasks/{first}"), message)
                .counters(cycle.iter().filter_map(|&node| node.checked_sub(tasks as u32)))
                .tasks(involved)
                .witness(Witness::Cycle { steps })
        });
    }
}

/// The next task of each task's queue.
fn queues(program: &Program<'_>) -> Vec<Option<u32>> {
    let mut next = vec![None; program.tasks.len()];
    let mut last: HashMap<i64, usize> = HashMap::new();
    for (index, task) in program.tasks.iter().enumerate() {
        let Some(sm) = task.sm else { continue };
        if let Some(before) = last.insert(sm, index) {
            next[before] = Some(index as u32);
        }
    }
    next
}

/// The tasks of a cycle, each with what puts it before the next one.
fn steps(program: &Program<'_>, cycle: &[u32], tasks: usize) -> Vec<CycleStep> {
    let next = cycle.iter().cycle().skip(1);
    cycle
        .iter()
        .zip(next)
        .filter(|(node, _)| (**node as usize) < tasks)
        .map(|(&task, &next)| {
            let then = match (next as usize).checked_sub(tasks) {
                Some(counter) => Before::Counter(counter as u32),
                None => Before::Queue(program.tasks[task as usize].sm.unwrap_or_default()),
            };
            CycleStep { task, then }
        })
        .collect()
}
