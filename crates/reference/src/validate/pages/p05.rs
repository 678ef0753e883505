//! P05 space-mismatch: a buffer and its page live in the same space.

use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::Findings;

use crate::validate::pages::Binding;

pub(super) fn check(binding: &Binding<'_>, findings: &mut Findings) {
    let (needed, has) = (binding.buffer_record.space, binding.page_record.space);
    if needed != has {
        findings.report(Rule::P05, || {
            let message = format!(
                "buffer {} `{}` lives in {needed}, page {} in {has}",
                binding.buffer, binding.buffer_record.name, binding.page
            );
            Diagnostic::new(Rule::P05, binding.pointer(), message).buffers([binding.buffer])
        });
    }
}
