//! S21 kind-space: only activations live outside HBM.

use megakernel_ir::model::Buffer;
use megakernel_ir::{BufferKind, MemSpace, Rule};
use megakernel_order::Findings;

pub(super) fn check(index: usize, buffer: &Buffer<'_>, findings: &mut Findings) {
    if buffer.kind != BufferKind::Activation && buffer.space != MemSpace::Hbm {
        let message =
            format!("a {} buffer in {}; only ACTIVATION buffers may leave HBM", buffer.kind, buffer.space);
        findings.broken(Rule::S21, format!("/buffers/{index}/space"), message);
    }
}
