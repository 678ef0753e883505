//! D05 queue-order: in the queue of an SM, no task stands behind a task that waits for it.

use std::collections::{BTreeSet, HashMap};

use megakernel_ir::diagnostic::{Before, CycleStep, Witness};
use megakernel_ir::model::Program;
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::{Findings, Graph};

use crate::validate::describe::Names;

/// Judges the rule. Gives back the broken edges as pairs of a counter and the task that waits on it.
pub(super) fn check(
    program: &Program<'_>,
    graph: &Graph,
    findings: &mut Findings,
) -> BTreeSet<(CounterId, TaskId)> {
    let mut broken = BTreeSet::new();
    // The last producer of each counter in each queue.
    let mut last: HashMap<(CounterId, i64), TaskId> = HashMap::new();
    for (id, task) in program.tasks_by_id() {
        if let Some(sm) = task.sm {
            last.insert((graph.out(id), sm), id);
        }
    }
    let names = Names::new(program);
    for (id, task) in program.tasks_by_id() {
        let Some(sm) = task.sm else { continue };
        for &counter in graph.waits(id) {
            let Some(&producer) = last.get(&(counter, sm)).filter(|&&producer| producer > id) else {
                continue;
            };
            broken.insert((counter, id));
            findings.report(Rule::D05, || {
                let message = format!(
                    "{} waits for {}, which stands behind it in the queue of SM {sm}; list the producer first",
                    names.task(id),
                    names.task(producer),
                );
                let steps = vec![
                    CycleStep { task: id, then: Before::Queue(sm) },
                    CycleStep { task: producer, then: Before::Counter(counter) },
                ];
                Diagnostic::new(Rule::D05, format!("/tasks/{id}"), message)
                    .tasks([id, producer])
                    .counters([counter])
                    .witness(Witness::Cycle { steps })
            });
        }
    }
    broken
}
