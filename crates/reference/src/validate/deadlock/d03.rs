//! D03 self-wait: no task waits on the counter that it increments itself.

use megakernel_ir::diagnostic::Witness;
use megakernel_ir::model::Task;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::{Findings, Graph};

pub(super) fn check(index: usize, task: &Task<'_>, graph: &Graph, findings: &mut Findings) {
    for (position, wait) in task.waits.iter().enumerate() {
        if wait.counter == task.out_counter {
            findings.report(Rule::D03, || {
                let counter = wait.counter;
                let message = format!(
                    "task {index} waits on counter {counter}, which it increments itself when it finishes"
                );
                let diagnostic =
                    Diagnostic::new(Rule::D03, format!("/tasks/{index}/waits/{position}"), message)
                        .tasks([index as u32])
                        .counters([counter as u32]);
                // Other producers can satisfy a partial wait; then nothing hangs, and nothing is claimed.
                if wait.threshold < i64::from(graph.producers[counter as usize]) {
                    return diagnostic;
                }
                let then =
                    format!("counter {counter} lacks the increment of task {index}, which waits for it");
                diagnostic.witness(Witness::Schedule { events: Vec::new(), then })
            });
        }
    }
}
