//! S13 missing-param: a task gives every parameter that its opcode requires.

use megakernel_ir::Rule;
use megakernel_ir::model::Task;
use megakernel_order::Findings;

use crate::opcodes;

pub(super) fn check(index: usize, task: &Task<'_>, findings: &mut Findings) {
    for param in opcodes::required_params(task) {
        if task.params.get(param).is_none() {
            let message = format!("{} requires the parameter `{}`", task.op, param.name());
            findings.broken(Rule::S13, format!("/tasks/{index}/params"), message);
        }
    }
}
