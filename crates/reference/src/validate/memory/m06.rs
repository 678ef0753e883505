//! M06 output-coverage: the tasks together write every element of an IO_OUTPUT.

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::model::Program;
use megakernel_ir::{BufferKind, Diagnostic, Rule};
use megakernel_order::Findings;

use crate::region::Region;
use crate::validate::accesses::Accesses;
use crate::validate::describe::region;
use crate::validate::race::cover::uncovered;

pub(super) fn check(program: &Program<'_>, accesses: &Accesses<'_>, findings: &mut Findings) {
    for (id, buffer) in program.buffers_by_id().filter(|(_, buffer)| buffer.kind == BufferKind::IoOutput) {
        let writes = accesses.of(id).into_iter().filter(|access| access.kind == AccessKind::Write);
        let missing = uncovered(&Region::of(buffer), writes.map(|write| write.region));
        if let Some(missing) = missing {
            findings.report(Rule::M06, || {
                let message = format!("no task writes {} of the output `{}`", region(&missing), buffer.name);
                Diagnostic::new(Rule::M06, format!("/buffers/{id}"), message).buffers([id])
            });
        }
    }
}
