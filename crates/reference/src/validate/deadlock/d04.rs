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
    let names = Names::new(program);
    for (number, component) in components(counters, successors).into_iter().enumerate() {
        component.iter().for_each(|counter| on_cycle[counter.index()] = number as u32 + 1);
        findings.report(Rule::D04, || {
            let cycle = shortest_cycle(counters, component[0], successors);
            let steps = rotate_to_lowest(cycle_of_tasks(graph, &cycle));
            let tasks: Vec<TaskId> = steps.iter().map(|step| step.task).collect();
            let first = tasks.first().copied().unwrap_or_default();
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

/// The tasks along a cycle of counters: each waits on one of them and increments the next.
fn cycle_of_tasks(graph: &Graph, cycle: &[CounterId]) -> Vec<CycleStep> {
    let next = cycle.iter().cycle().skip(1);
    let steps = cycle.iter().zip(next).filter_map(|(&counter, &next)| {
        let task = graph.waiters(counter).iter().copied().find(|&task| graph.out(task) == next)?;
        Some(CycleStep { task, then: Before::Counter(next) })
    });
    steps.collect()
}

/// The same cycle from its lowest task on.
pub(super) fn rotate_to_lowest(mut steps: Vec<CycleStep>) -> Vec<CycleStep> {
    let lowest = (0..steps.len()).min_by_key(|&index| steps[index].task).unwrap_or(0);
    steps.rotate_left(lowest);
    steps
}
