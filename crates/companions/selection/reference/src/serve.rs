//! The profile `selection` among the profiles of the reference.

use megakernel_ir::companion::Reference;
use megakernel_ir::diagnostic::Witness;
use megakernel_ir::protocol::{Answer, Method as Asked, Profile, Request};
use megakernel_ir::{Diagnostic, read_value};
use megakernel_selection::Fault;

use crate::answer::{Answered, Method, answer};

/// Answers the requests of the profile `selection`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selections;

impl Reference for Selections {
    fn profiles(&self) -> &[Profile] {
        &[Profile::SELECTION]
    }

    fn answer(&mut self, request: &Request<'_>) -> Answer {
        serve(request)
    }
}

/// Answers a request of the profile `selection`.
pub fn serve(request: &Request<'_>) -> Answer {
    let method = match request.method {
        Asked::VALIDATE => Method::Validate,
        Asked::SELECT => Method::Select,
        Asked::EXPLAIN => Method::Explain,
        other => return Answer::Unsupported { reason: format!("kernel selection has no method `{other}`") },
    };
    let value = match read_value(request.document.as_bytes()) {
        Ok(value) => value,
        Err(diagnostics) => return Answer::Reject { diagnostics },
    };
    match answer(method, &value) {
        Answered::Accept { warnings, document } => Answer::Accept {
            diagnostics: warnings.into_iter().map(diagnostic).collect(),
            document: document.map(|document| document.to_string()),
        },
        Answered::Reject(faults) => {
            Answer::Reject { diagnostics: faults.into_iter().map(diagnostic).collect() }
        }
    }
}

/// A fault as the protocol has it.
pub fn diagnostic(fault: Fault) -> Diagnostic {
    let diagnostic = Diagnostic::new(fault.rule, fault.pointer, fault.message);
    if fault.ops.is_empty() && fault.kernels.is_empty() {
        return diagnostic;
    }
    let ops = fault.ops.into_iter().map(|op| op as u64).collect();
    diagnostic.witness(Witness::Choice { ops, kernels: fault.kernels })
}

#[cfg(test)]
mod tests {
    use megakernel_ir::protocol::DocumentBytes;
    use megakernel_test_support::spec::examples;

    use super::*;

    fn witness(method: Asked, text: &str) -> Option<Witness> {
        let document = DocumentBytes::Text(text.into());
        let request = Request { method, profile: Profile::SELECTION, document, arguments: None };
        let found = match serve(&request) {
            Answer::Accept { diagnostics, .. } | Answer::Reject { diagnostics } => diagnostics,
            _ => Vec::new(),
        };
        found.into_iter().next().and_then(|found| found.witness)
    }

    fn choice(ops: &[u64], kernels: &[&str]) -> Option<Witness> {
        let kernels = kernels.iter().map(|&kernel| kernel.to_owned()).collect();
        Some(Witness::Choice { ops: ops.to_vec(), kernels })
    }

    #[test]
    fn witnesses_of_the_examples_show_what_the_table_of_rules_says() {
        let table: [(&str, &[u64], &[&str]); 17] = [
            ("KQ01", &[0], &[]),
            ("KQ02", &[0, 1], &[]),
            ("KQ03", &[0, 1], &[]),
            ("KQ04", &[0], &[]),
            ("KN01", &[1], &[]),
            ("KP01", &[1], &[]),
            ("KP02", &[1], &[]),
            ("KP04", &[0, 1], &["linear_bias_relu"]),
            ("KP05", &[0, 1], &["linear_bias"]),
            ("KP06", &[0], &["linear_bias"]),
            ("KP07", &[0, 1], &["linear_bias"]),
            ("KP08", &[0, 1], &["linear_bias"]),
            ("KP09", &[0, 1], &["linear_bias"]),
            ("KW01", &[], &["two"]),
            ("KW02", &[], &["b", "a"]),
            ("KW03", &[], &["lbr"]),
            ("KW04", &[], &["linear_bias"]),
        ];
        let examples = examples();
        for (rule, ops, kernels) in table {
            let example = examples.iter().find(|example| example.rule == rule).expect("an example");
            let method = if rule == "KN01" { Asked::SELECT } else { Asked::VALIDATE };
            assert_eq!(witness(method, &example.failing), choice(ops, kernels), "{rule}");
        }
    }

    /// A kernel was viable for the first two ops, and for no more; the readers of a lost value are named.
    #[test]
    fn witnesses_name_ops_and_kernels_of_the_region() {
        let op = |reads: &str, value: &str, readers: &str, class: &str| {
            format!(
                r#"{{"reads": ["{reads}"], "writes": [{{"value": "{value}", "readers": {readers}}}], "sig": {{"class": "{class}"}}}}"#
            )
        };
        let stage = |class: &str| format!(r#"{{"class": "{class}", "out": true}}"#);
        let kernel = |id: &str, stages: &str| {
            format!(r#"{{"id": "{id}", "stages": [{stages}], "cost": {{"fixed": "1"}}}}"#)
        };
        let all = [op("x", "a", "[1, 2]", "gemm"), op("a", "b", "[]", "bias"), op("a", "c", "[]", "scale")];
        let ops = all.join(", ");
        let three = [stage("gemm"), stage("bias"), stage("relu")].join(", ");
        let kernels = [kernel("gbr", &three), kernel("s", &stage("scale"))].join(", ");
        let request = |kernels: &str, more: &str| {
            format!(r#"{{"sequence": {{"ops": [{ops}]}}, "index": {{"kernels": [{kernels}]}}{more}}}"#)
        };
        assert_eq!(witness(Asked::SELECT, &request(&kernels, "")), choice(&[0, 1], &["gbr"]));
        let lost = [r#"{"class": "gemm"}"#.to_owned(), stage("bias")].join(", ");
        let kernels = [kernel("gb", &lost), kernel("s", &stage("scale"))].join(", ");
        let regions =
            r#"[{"anchor": 0, "last": 1, "kernel": "gb"}, {"anchor": 2, "last": 2, "kernel": "s"}]"#;
        let plan = format!(r#", "plan": {{"regions": {regions}}}"#);
        assert_eq!(witness(Asked::VALIDATE, &request(&kernels, &plan)), choice(&[0, 2], &["gb"]));
    }
}
