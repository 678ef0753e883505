//! D07 sm-out-of-range: a task is assigned to an SM that the target has.

use megakernel_ir::model::{Target, Task};
use megakernel_ir::{Diagnostic, Rule, TaskId};
use megakernel_order::Findings;

/// Whether no SM takes up the queue of this task: it never starts.
pub fn never_starts(task: &Task<'_>, target: Option<&Target<'_>>) -> bool {
    task.sm.is_some_and(|sm| sm < 0 || target.is_some_and(|target| sm >= target.num_sms))
}

pub(super) fn check(id: TaskId, task: &Task<'_>, target: Option<&Target<'_>>, findings: &mut Findings) {
    let Some(sm) = task.sm else { return };
    if never_starts(task, target) {
        findings.report(Rule::D07, || {
            let message = match target {
                Some(target) => {
                    format!("SM {sm}; the target `{}` has SMs 0 to {}", target.name, target.num_sms - 1)
                }
                None => format!("SM {sm}; SMs count from 0"),
            };
            Diagnostic::new(Rule::D07, format!("/tasks/{id}/sm"), message).tasks([id])
        });
    }
}
