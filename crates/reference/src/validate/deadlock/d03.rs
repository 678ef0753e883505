//! D03 self-wait: no task waits on the counter that it increments itself.

use megakernel_ir::diagnostic::Witness;
use megakernel_ir::model::Task;
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::{Findings, Graph};

pub(super) fn check(id: TaskId, task: &Task<'_>, graph: &Graph, findings: &mut Findings) {
    for (position, wait) in task.waits.iter().enumerate() {
        if wait.counter == task.out_counter {
            findings.report(Rule::D03, || {
                let counter = CounterId::stated(wait.counter);
                let message = format!(
                    "task {id} waits on counter {counter}, which it increments itself when it finishes"
                );
                let diagnostic = Diagnostic::new(Rule::D03, format!("/tasks/{id}/waits/{position}"), message)
                    .tasks([id])
                    .counters([counter]);
                // Other producers can satisfy a partial wait; then nothing hangs, and nothing is claimed.
                if wait.threshold < i64::from(graph.producers(counter)) {
                    return diagnostic;
                }
                let then = format!("counter {counter} lacks the increment of task {id}, which waits for it");
                diagnostic.witness(Witness::Schedule { events: Vec::new(), then })
            });
        }
    }
}
