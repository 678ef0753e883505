//! W03 on-chip-unplaced: a buffer in SMEM or REGISTER is used by a task that has no SM yet.

use megakernel_ir::model::Program;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::Findings;

use crate::validate::accesses::Accesses;

pub(super) fn check(program: &Program<'_>, accesses: &Accesses<'_>, findings: &mut Findings) {
    for (id, buffer) in program.buffers_by_id().filter(|(_, buffer)| buffer.space.is_on_chip()) {
        let mut unplaced = accesses.tasks(id).filter(|&task| program[task].sm.is_none());
        if let Some(task) = unplaced.next() {
            findings.report(Rule::W03, || {
                let message = format!(
                    "`{}` lives in {} of one SM, but task {task} has no SM: assign every user of the buffer to one",
                    buffer.name, buffer.space
                );
                Diagnostic::new(Rule::W03, format!("/buffers/{id}"), message).tasks([task]).buffers([id])
            });
        }
    }
}
