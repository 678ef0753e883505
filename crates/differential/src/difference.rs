//! How an implementation differs from the reference.

use std::collections::BTreeSet;

use megakernel_conformance::judge::Mismatch;
use megakernel_conformance::run::Outcome;
use megakernel_ir::rule::Rule;

use crate::features;
use crate::sample::Declared;

/// A disagreement on one sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Of what kind it is.
    kind: Kind,
    /// What all disagreements of one cause have in common, in words.
    pub cause: String,
    /// What is required.
    pub expected: String,
    /// What the implementation did.
    pub actual: String,
}

/// Kinds of disagreements. Those of one kind may stand for each other while a document shrinks.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// It accepts what breaks one of these rules.
    Accepts(BTreeSet<Rule>),
    /// It wrote wrong elements.
    Elements,
    /// It answers otherwise than is required, or fails, in a way that the words tell.
    Other,
}

impl Difference {
    /// The disagreement on a sample that was played, if there is one. A sample that was skipped or not played shows none.
    pub fn of(declared: &Declared, outcome: &Outcome) -> Option<Difference> {
        match outcome {
            Outcome::Passed | Outcome::Skipped(_) | Outcome::NotAsked(_) => None,
            Outcome::WrongAnswer(mismatch) => {
                let kind = if mismatch.elements.is_some() {
                    Kind::Elements
                } else if mismatch.actual == "accept" {
                    Kind::Accepts(declared.broken())
                } else {
                    Kind::Other
                };
                let cause = mismatch.cause.clone();
                let (expected, actual) = (mismatch.expected.clone(), mismatch.actual.clone());
                Some(Difference { kind, cause, expected, actual })
            }
            Outcome::WorkerFailed { failure, stderr } => {
                let failure = failure.to_string();
                // Without the numbers and the lines of the worker, which are others each time.
                let Mismatch { cause, expected, .. } = Mismatch::new("an answer", failure.as_str());
                let last = stderr.lines().last().unwrap_or_default();
                let actual = format!("{failure} {last}").trim_end().to_owned();
                Some(Difference { kind: Kind::Other, cause, expected, actual })
            }
        }
    }

    /// Whether a disagreement on a smaller sample may stand for this one.
    pub fn covers(&self, smaller: &Difference) -> bool {
        match (&self.kind, &smaller.kind) {
            (Kind::Accepts(rules), Kind::Accepts(fewer)) => fewer.is_subset(rules),
            (Kind::Elements, Kind::Elements) => true,
            (Kind::Other, Kind::Other) => self.cause == smaller.cause,
            _ => false,
        }
    }

    /// What tells causes apart: the words, and what the shrunk document still has.
    pub fn signature(&self, declared: &Declared) -> String {
        format!("{} | {}", self.cause, features::lasting(declared).into_iter().collect::<Vec<_>>().join(", "))
    }
}
