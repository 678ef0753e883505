//! What a validator says about a document.

use std::collections::BTreeMap;

use megakernel_ir::protocol::Answer;
use megakernel_ir::{Diagnostic, Rule};

use crate::findings::Findings;

/// What a validator says about a document.
#[derive(Debug)]
pub struct Verdict {
    /// Ordered by rule; at most [`KEPT_PER_RULE`](crate::KEPT_PER_RULE) of each, unless more were asked for.
    pub diagnostics: Vec<Diagnostic>,
    /// How many diagnostics of a rule were counted and not kept. A lower bound: of a buffer with very many accesses
    /// out of order, only the first few are compared.
    pub suppressed: BTreeMap<Rule, u64>,
}

impl Verdict {
    /// The verdict about a document that could not be read.
    pub fn of_unread(diagnostics: Vec<Diagnostic>) -> Verdict {
        let mut findings = Findings::default();
        for diagnostic in diagnostics {
            findings.report(diagnostic.rule, || diagnostic);
        }
        Verdict::from(findings)
    }

    /// Whether no rule of severity error is broken.
    pub fn accepts(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

impl From<Verdict> for Answer {
    fn from(verdict: Verdict) -> Answer {
        match verdict.accepts() {
            true => Answer::Accept { diagnostics: verdict.diagnostics, document: None },
            false => Answer::Reject { diagnostics: verdict.diagnostics },
        }
    }
}

impl From<Findings> for Verdict {
    fn from(findings: Findings) -> Verdict {
        let (diagnostics, suppressed) = findings.into_parts();
        Verdict { diagnostics, suppressed }
    }
}
