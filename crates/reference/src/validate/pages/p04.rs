//! P04 not-pageable: only activations are bound to pages.

use megakernel_ir::{BufferKind, Diagnostic, Rule};
use megakernel_order::Findings;

use crate::validate::pages::Binding;

pub(super) fn check(binding: &Binding<'_>, findings: &mut Findings) {
    let Binding { buffer, buffer_record, .. } = binding;
    if buffer_record.kind != BufferKind::Activation {
        findings.report(Rule::P04, || {
            let message = format!(
                "buffer {buffer} `{}` is {}; its contents outlive the task graph, only ACTIVATION buffers go on pages",
                buffer_record.name, buffer_record.kind
            );
            Diagnostic::new(Rule::P04, binding.pointer(), message).buffers([*buffer])
        });
    }
}
