//! M05 unwritten-read: every element of a read is written before it, where some of them are.

use megakernel_ir::diagnostic::Witness;
use megakernel_ir::{Diagnostic, Rule, TaskId};
use megakernel_order::Findings;

use crate::validate::describe::{Names, region};
use crate::validate::race::Exact;

pub fn check(exact: &Exact<'_>, rank: &dyn Fn(TaskId) -> u32, names: &Names<'_>, findings: &mut Findings) {
    for (read, missing) in exact.unwritten(rank) {
        let access = exact.accesses[read];
        findings.report(Rule::M05, || {
            let missing = missing.unwrap_or(access.region);
            let message = format!(
                "{} reads {} of {}, and no task before it writes {}",
                names.task(access.task),
                region(&access.region),
                names.buffer(exact.buffer),
                region(&missing),
            );
            let witness =
                Witness::Unwritten { task: access.task, buffer: exact.buffer, region: missing.to_witness() };
            Diagnostic::new(Rule::M05, access.pointer(), message)
                .tasks([access.task])
                .buffers([exact.buffer])
                .witness(witness)
        });
    }
}
