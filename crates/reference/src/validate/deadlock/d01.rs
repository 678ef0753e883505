//! D01 wait-without-producer: some task increments every counter that is waited on.

use megakernel_ir::diagnostic::Witness;
use megakernel_ir::model::Task;
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::{Findings, Graph};

pub(super) fn check(id: TaskId, task: &Task<'_>, graph: &Graph, findings: &mut Findings) {
    for (position, wait) in task.waits.iter().enumerate() {
        let counter = CounterId::stated(wait.counter);
        if graph.producers(counter) == 0 {
            findings.report(Rule::D01, || {
                let message = format!("task {id} waits on counter {counter}, which no task increments");
                let then = format!("counter {counter} stays 0: task {id} never starts");
                Diagnostic::new(Rule::D01, format!("/tasks/{id}/waits/{position}"), message)
                    .tasks([id])
                    .counters([counter])
                    .witness(Witness::Schedule { events: Vec::new(), then })
            });
        }
    }
}
