//! D01 wait-without-producer: some task increments every counter that is waited on.

use megakernel_ir::diagnostic::Witness;
use megakernel_ir::model::Task;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::{Findings, Graph};

pub(super) fn check(index: usize, task: &Task<'_>, graph: &Graph, findings: &mut Findings) {
    for (position, wait) in task.waits.iter().enumerate() {
        if graph.producers[wait.counter as usize] == 0 {
            findings.report(Rule::D01, || {
                let message =
                    format!("task {index} waits on counter {}, which no task increments", wait.counter);
                let then = format!("counter {} stays 0: task {index} never starts", wait.counter);
                Diagnostic::new(Rule::D01, format!("/tasks/{index}/waits/{position}"), message)
                    .tasks([index as u32])
                    .counters([wait.counter as u32])
                    .witness(Witness::Schedule { events: Vec::new(), then })
            });
        }
    }
}
