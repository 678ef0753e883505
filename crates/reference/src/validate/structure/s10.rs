//! S10 duplicate-output: a task lists no buffer twice among its outputs.

use megakernel_ir::model::{Program, Task};
use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::Findings;

use crate::validate::structure::buffer;

pub(super) fn check(program: &Program<'_>, index: usize, task: &Task<'_>, findings: &mut Findings) {
    for (position, output) in task.outputs.iter().enumerate().skip(1) {
        if task.outputs[..position].contains(output) {
            findings.report(Rule::S10, || {
                let name = buffer(program, *output).map_or("", |buffer| &buffer.name);
                let message =
                    format!("buffer {output} `{name}` is already an output of this task; list it once");
                Diagnostic::new(Rule::S10, format!("/tasks/{index}/outputs/{position}"), message)
            });
        }
    }
}
