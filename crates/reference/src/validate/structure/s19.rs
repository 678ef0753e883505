//! S19 output-not-produced: some task writes every IO_OUTPUT.

use megakernel_ir::model::Program;
use megakernel_ir::{BufferKind, Rule};
use megakernel_order::Findings;

pub(super) fn check(program: &Program<'_>, produced: &[bool], findings: &mut Findings) {
    for (index, (buffer, produced)) in program.buffers.iter().zip(produced).enumerate() {
        if buffer.kind == BufferKind::IoOutput && !produced {
            let message = format!("no task writes the output `{}`", buffer.name);
            findings.broken(Rule::S19, format!("/buffers/{index}"), message);
        }
    }
}
