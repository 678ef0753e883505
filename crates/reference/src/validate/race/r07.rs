//! R07 on-chip-sharing: a buffer in SMEM or REGISTER is used from one SM only.

use megakernel_ir::model::Program;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::Findings;

use crate::validate::accesses::Accesses;
use crate::validate::describe::Names;

pub(super) fn check(program: &Program<'_>, accesses: &Accesses<'_>, findings: &mut Findings) {
    for (id, buffer) in program.buffers_by_id().filter(|(_, buffer)| buffer.space.is_on_chip()) {
        let mut placed = accesses.tasks(id).filter_map(|task| Some((task, program[task].sm?)));
        let Some((first, sm)) = placed.next() else { continue };
        if let Some((other, other_sm)) = placed.find(|&(_, other_sm)| other_sm != sm) {
            findings.report(Rule::R07, || {
                let names = Names::new(program);
                let message = format!(
                    "{} lives in {} of one SM, but {} uses it on SM {sm} and {} on SM {other_sm}",
                    names.buffer(id),
                    buffer.space,
                    names.task(first),
                    names.task(other),
                );
                Diagnostic::new(Rule::R07, format!("/buffers/{id}"), message)
                    .tasks([first, other])
                    .buffers([id])
            });
        }
    }
}
