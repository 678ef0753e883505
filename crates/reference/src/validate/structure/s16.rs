//! S16 threshold: a positive integer that a counter of 32 bits can reach. Numbers that are no integers are found
//! while reading.

use megakernel_ir::Rule;
use megakernel_ir::model::Task;
use megakernel_order::Findings;

pub(super) fn check(index: usize, task: &Task<'_>, findings: &mut Findings) {
    for (position, wait) in task.waits.iter().enumerate() {
        if wait.threshold < 1 || u32::try_from(wait.threshold).is_err() {
            let message = format!("threshold {} is not an integer from 1 to {}", wait.threshold, u32::MAX);
            findings.broken(Rule::S16, format!("/tasks/{index}/waits/{position}/threshold"), message);
        }
    }
}
