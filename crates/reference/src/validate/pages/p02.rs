//! P02 page-too-small: a page holds every buffer that is bound to it.

use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::Findings;

use crate::validate::pages::Binding;

pub(super) fn check(binding: &Binding<'_>, findings: &mut Findings) {
    let needed = binding.buffer_record.nbytes().unwrap_or(i64::MAX);
    let has = binding.page_record.nbytes;
    if needed > has {
        findings.report(Rule::P02, || {
            let message = format!(
                "buffer {} `{}` has {needed} bytes, page {} only {has}",
                binding.buffer, binding.buffer_record.name, binding.page
            );
            Diagnostic::new(Rule::P02, binding.pointer(), message).buffers([binding.buffer])
        });
    }
}
