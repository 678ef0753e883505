//! D04 dependency-cycle: no two tasks wait for each other, however indirectly.

use megakernel_ir::diagnostic::{Before, CycleStep, Witness};
use megakernel_ir::model::Program;
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::cycles::{components, shortest_cycle};
use megakernel_order::{Findings, Graph};

use crate::validate::describe::Names;

/// Judges the rule. Gives back, for each counter on a cycle, the number of its cycle; others have 0.
pub(super) fn check(
    program: &Program<'_>,
    graph: &Graph,
    is_cyclic: bool,
    findings: &mut Findings,
) -> Vec<u32> {
    let counters = graph.counters();
    let mut on_cycle = vec![0; counters];
    if !is_cyclic {
        return on_cycle;
    }
    // From a counter, each task that waits on it leads to the counter that the task increments.
    let successors =
        |counter: CounterId, index: usize| graph.waiters(counter).get(index).map(|&task| graph.out(task));
    let components = components(counters, successors);
    for (number, component) in components.iter().enumerate() {
        component.iter().for_each(|counter| on_cycle[counter.index()] = number as u32 + 1);
    }
    // A task is on the cycle of its counter if it waits on another counter of it.
    let mut lowest = vec![None; components.len()];
    for task in TaskId::range(0..graph.tasks()) {
        let number = on_cycle[graph.out(task).index()];
        let place = number.checked_sub(1).and_then(|index| lowest.get_mut(index as usize));
        let Some(lowest @ None) = place else { continue };
        if graph.waits(task).iter().any(|wait| on_cycle[wait.index()] == number) {
            *lowest = Some(task);
        }
    }
    let names = Names::new(program);
    for first in lowest.into_iter().flatten() {
        findings.report(Rule::D04, || {
            let (cycle, steps) = cycle_through(graph, first);
            let tasks: Vec<TaskId> = steps.iter().map(|step| step.task).collect();
            let message = format!(
                "{} and {} other tasks wait for each other in a cycle",
                names.task(first),
                tasks.len().saturating_sub(1)
            );
            Diagnostic::new(Rule::D04, format!("/tasks/{first}"), message)
                .tasks(tasks)
                .counters(cycle)
                .witness(Witness::Cycle { steps })
        });
    }
    on_cycle
}

/// A shortest cycle through a task, as counters and as tasks, of which each waits on the counter that the one before it increments.
fn cycle_through(graph: &Graph, first: TaskId) -> (Vec<CounterId>, Vec<CycleStep>) {
    let start = graph.out(first);
    // To the counter of this task, other tasks that increment it lead no way.
    let is_way = |task: TaskId| graph.out(task) != start || task == first;
    let successors = |counter: CounterId, index: usize| {
        let task = *graph.waiters(counter).get(index)?;
        Some(if is_way(task) { graph.out(task) } else { counter })
    };
    let cycle = shortest_cycle(graph.counters(), start, successors);
    let step = |(&before, &counter): (&CounterId, &CounterId)| {
        let mut waiters = graph.waiters(before).iter().copied();
        let task = waiters.find(|&task| graph.out(task) == counter && is_way(task))?;
        Some(CycleStep { task, then: Before::Counter(counter) })
    };
    let before = cycle.iter().cycle().skip(cycle.len().saturating_sub(1));
    let steps = before.zip(&cycle).filter_map(step).collect();
    (cycle, steps)
}
