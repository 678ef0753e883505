//! What can go wrong in those who judge sequences, indices, requests and plans.

use megakernel_ir::protocol::{Answer, Method};
use megakernel_ir::rule::Severity;
use megakernel_ir::{Diagnostic, Rule};

/// A fault of a judge.
pub enum Wrong {
    /// None.
    Nothing,
    /// Accepts whatever it can read, or nothing.
    Always(bool),
    /// Does not find what breaks these rules.
    Blind(&'static [Rule]),
    /// Names the first of these rules where the second is broken.
    Mistakes(Rule, Rule),
}

use Wrong::{Always, Blind, Mistakes};

/// Faults of judges: id, summary, what is wrong.
pub const JUDGES: &[(&str, &str, Wrong)] = &[
    ("accepts-all", "accepts whatever it can read", Always(true)),
    ("rejects-all", "rejects whatever it can read", Always(false)),
    ("blind-types", "takes values of any JSON type", Blind(&[Rule::S04])),
    ("blind-members", "needs no member", Blind(&[Rule::S03])),
    ("blind-names", "takes any name", Blind(&[Rule::S05])),
    ("blind-ranges", "takes any number", Blind(&[Rule::KS01])),
    ("blind-rationals", "takes any text for a number", Blind(&[Rule::KS02])),
    ("blind-repeats", "takes lists with an entry twice", Blind(&[Rule::KS03])),
    ("blind-half-chain", "takes `in` without `out`", Blind(&[Rule::KS04])),
    ("blind-no-stage", "takes kernels without stages", Blind(&[Rule::KS05])),
    ("blind-forward", "takes ops that read what comes later", Blind(&[Rule::KQ01])),
    ("blind-double-write", "takes values that two ops write", Blind(&[Rule::KQ02])),
    ("blind-readers", "believes the lists of readers", Blind(&[Rule::KQ03])),
    ("blind-self-conflict", "takes ops whose own rows contradict each other", Blind(&[Rule::KQ04])),
    ("blind-duplicates", "takes two kernels with one id", Blind(&[Rule::KI01])),
    ("blind-ambiguous", "takes kernels of which a class does not tell the stage", Blind(&[Rule::KI02])),
    ("blind-contradiction", "takes constraints that nothing can meet", Blind(&[Rule::KI03])),
    ("blind-gap", "takes plans that leave out ops", Blind(&[Rule::KP01])),
    ("blind-overlap", "takes plans that do ops twice", Blind(&[Rule::KP02])),
    ("blind-kernel", "takes kernels that the index does not have", Blind(&[Rule::KP03])),
    ("blind-cover", "does not ask whether the kernel does these ops", Blind(&[Rule::KP04])),
    ("blind-crossed", "takes regions across barriers and markers", Blind(&[Rule::KP05])),
    ("blind-escape", "does not ask who else reads a value", Blind(&[Rule::KP06])),
    ("blind-limit", "takes regions of any length", Blind(&[Rule::KP07])),
    ("any-plan", "takes any plan that covers its ops", Blind(&[Rule::KP08])),
    ("any-state", "does not look at trigger, cost and matrix", Blind(&[Rule::KP09])),
    ("no-choice", "takes any plan that covers its ops, and any state", Blind(&[Rule::KP08, Rule::KP09])),
    ("no-cover", "asks neither for the ops nor for what escapes", Blind(&[Rule::KP04, Rule::KP06])),
    (
        "structure-alone",
        "judges the form of documents alone",
        Blind(&[
            Rule::KQ01,
            Rule::KQ02,
            Rule::KQ03,
            Rule::KQ04,
            Rule::KI01,
            Rule::KI02,
            Rule::KI03,
            Rule::KP01,
            Rule::KP02,
            Rule::KP03,
            Rule::KP04,
            Rule::KP05,
            Rule::KP06,
            Rule::KP07,
            Rule::KP08,
            Rule::KP09,
        ]),
    ),
    ("silent-unreachable", "does not warn of kernels that no sequence reaches", Blind(&[Rule::KW01])),
    ("silent-dominated", "does not warn of kernels that are never chosen", Blind(&[Rule::KW02])),
    ("silent-hole", "does not warn of prefixes without a kernel", Blind(&[Rule::KW03])),
    ("silent-unit", "does not warn of classes without a kernel of their own", Blind(&[Rule::KW04])),
    ("gap-for-overlap", "names a gap where regions overlap", Mistakes(Rule::KP01, Rule::KP02)),
    ("cover-for-escape", "names the ops where a value is lost", Mistakes(Rule::KP04, Rule::KP06)),
    ("choice-for-state", "names the choice where the state is wrong", Mistakes(Rule::KP08, Rule::KP09)),
    ("limit-for-crossed", "names the limit where a marker is crossed", Mistakes(Rule::KP07, Rule::KP05)),
];

impl Wrong {
    /// The answer of a judge who would say this without the fault.
    pub fn answer(&self, method: Method, right: &Answer) -> Answer {
        // A plan is not made by judging.
        if method != Method::VALIDATE {
            return right.clone();
        }
        let accept = |diagnostics| Answer::Accept { diagnostics, document: None };
        match (self, right) {
            (Always(true), Answer::Reject { diagnostics }) if judged(diagnostics) => accept(Vec::new()),
            (Always(false), Answer::Accept { .. }) => {
                Answer::Reject { diagnostics: vec![Diagnostic::new(Rule::KQ03, "", String::new())] }
            }
            (Blind(unseen), Answer::Accept { diagnostics, .. }) => accept(without(diagnostics, unseen)),
            (Blind(unseen), Answer::Reject { diagnostics }) => {
                let left = without(diagnostics, unseen);
                if left.iter().any(|found| found.severity == Severity::Error) {
                    Answer::Reject { diagnostics: left }
                } else {
                    accept(left)
                }
            }
            (Mistakes(named, broken), Answer::Reject { diagnostics }) => {
                let mut found = diagnostics.clone();
                for diagnostic in &mut found {
                    if diagnostic.rule == *broken {
                        diagnostic.rule = *named;
                    }
                }
                Answer::Reject { diagnostics: found }
            }
            _ => right.clone(),
        }
    }
}

/// Whether it was read at all.
fn judged(found: &[Diagnostic]) -> bool {
    !found.iter().any(|found| [Rule::S01, Rule::S02].contains(&found.rule))
}

fn without(found: &[Diagnostic], unseen: &[Rule]) -> Vec<Diagnostic> {
    found.iter().filter(|found| !unseen.contains(&found.rule)).cloned().collect()
}
