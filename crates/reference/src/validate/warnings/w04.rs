//! W04 unused-buffer: some task reads or writes every buffer.

use megakernel_ir::Rule;
use megakernel_ir::model::Program;
use megakernel_order::Findings;

use crate::validate::accesses::Accesses;

pub(super) fn check(program: &Program<'_>, accesses: &Accesses<'_>, findings: &mut Findings) {
    for (index, buffer) in program.buffers.iter().enumerate() {
        if !accesses.is_used(index as u32) {
            let message = format!("no task reads or writes `{}`", buffer.name);
            findings.broken(Rule::W04, format!("/buffers/{index}"), message);
        }
    }
}
