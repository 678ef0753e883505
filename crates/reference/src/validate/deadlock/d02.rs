//! D02 threshold-above-producers: a counter can reach every threshold that is waited for.

use megakernel_ir::diagnostic::Witness;
use megakernel_ir::model::Task;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::{Findings, Graph};

pub(super) fn check(index: usize, task: &Task<'_>, graph: &Graph, findings: &mut Findings) {
    for (position, wait) in task.waits.iter().enumerate() {
        let producers = i64::from(graph.producers[wait.counter as usize]);
        // A counter without producers is D01's, the task's own counter D03's.
        if producers > 0 && wait.counter != task.out_counter && wait.threshold > producers {
            findings.report(Rule::D02, || {
                let message = format!(
                    "task {index} waits for counter {} to reach {}, but only {producers} tasks increment it; use {producers}",
                    wait.counter, wait.threshold
                );
                let then = format!("counter {} never exceeds {producers}: task {index} never starts", wait.counter);
                Diagnostic::new(Rule::D02, format!("/tasks/{index}/waits/{position}"), message)
                    .tasks([index as u32])
                    .counters([wait.counter as u32])
                    .witness(Witness::Schedule { events: Vec::new(), then })
            });
        }
    }
}
