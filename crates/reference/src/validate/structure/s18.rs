//! S18 read-only-write: no task writes a WEIGHT, CONST or IO_INPUT.

use megakernel_ir::model::{Program, Task};
use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::Findings;

use crate::validate::structure::buffer;

pub(super) fn check(program: &Program<'_>, index: usize, task: &Task<'_>, findings: &mut Findings) {
    for (position, &output) in task.outputs.iter().enumerate() {
        let Some(buffer) = buffer(program, output).filter(|buffer| buffer.kind.is_read_only()) else {
            continue;
        };
        findings.report(Rule::S18, || {
            let message = format!(
                "task {index} writes buffer {output} `{}`, which is {}: tasks read it without waiting for anyone",
                buffer.name, buffer.kind
            );
            Diagnostic::new(Rule::S18, format!("/tasks/{index}/outputs/{position}"), message)
        });
    }
}
