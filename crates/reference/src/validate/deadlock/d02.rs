//! D02 threshold-above-producers: a counter can reach every threshold that is waited for.

use megakernel_ir::diagnostic::Witness;
use megakernel_ir::model::Task;
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::{Findings, Graph};

pub(super) fn check(id: TaskId, task: &Task<'_>, graph: &Graph, findings: &mut Findings) {
    for (position, wait) in task.waits.iter().enumerate() {
        let counter = CounterId::stated(wait.counter);
        let producers = i64::from(graph.producers(counter));
        // A counter without producers is D01's, the task's own counter D03's.
        if producers > 0 && wait.counter != task.out_counter && wait.threshold > producers {
            findings.report(Rule::D02, || {
                let message = format!(
                    "task {id} waits for counter {counter} to reach {}, but only {producers} tasks increment it; use {producers}",
                    wait.threshold
                );
                let then = format!("counter {counter} never exceeds {producers}: task {id} never starts");
                Diagnostic::new(Rule::D02, format!("/tasks/{id}/waits/{position}"), message)
                    .tasks([id])
                    .counters([counter])
                    .witness(Witness::Schedule { events: Vec::new(), then })
            });
        }
    }
}
