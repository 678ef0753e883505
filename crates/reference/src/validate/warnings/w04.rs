//! W04 unused-buffer: some task reads or writes every buffer.

use megakernel_ir::Rule;
use megakernel_ir::model::Program;
use megakernel_order::Findings;

use crate::validate::accesses::Accesses;

pub(super) fn check(program: &Program<'_>, accesses: &Accesses<'_>, findings: &mut Findings) {
    for (id, buffer) in program.buffers_by_id() {
        if !accesses.is_used(id) {
            let message = format!("no task reads or writes `{}`", buffer.name);
            findings.broken(Rule::W04, format!("/buffers/{id}"), message);
        }
    }
}
