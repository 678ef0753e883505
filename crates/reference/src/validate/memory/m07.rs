//! M07 in-place: a task reads and writes one buffer only where its opcode allows that (clause EXE-10).

use megakernel_ir::model::Task;
use megakernel_ir::{BufferId, Diagnostic, Rule, TaskId};
use megakernel_order::Findings;

use crate::opcodes::{self, InPlace};

pub(super) fn check(id: TaskId, task: &Task<'_>, findings: &mut Findings) {
    for (position, output) in task.outputs.iter().enumerate() {
        let problem = task.inputs.iter().enumerate().find_map(|(input, other)| {
            match (opcodes::in_place(task.op, input), other == output) {
                (InPlace::Forbidden, true) => Some(format!(
                    "{} may not write its input {input} (buffer {output}) in place; give it another output",
                    task.op
                )),
                (InPlace::Required, false) => Some(format!(
                    "{} writes its input {input} (buffer {other}) in place; its output is buffer {output}",
                    task.op
                )),
                _ => None,
            }
        });
        if let Some(message) = problem {
            findings.report(Rule::M07, || {
                Diagnostic::new(Rule::M07, format!("/tasks/{id}/outputs/{position}"), message)
                    .tasks([id])
                    .buffers([BufferId::stated(*output)])
            });
        }
    }
}
