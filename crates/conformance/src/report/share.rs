//! How much of a profile was shown (clause CON-08).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use megakernel_ir::protocol::Profile;
use megakernel_ir::rule::Rule;
use megakernel_ir::{DType, Opcode};
use serde::{Deserialize, Serialize};

use super::results::{Ended, Played};
use crate::case::{Case, Verdict};
use crate::execution::used as used_by;
use crate::store::Corpus;

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What was shown.
    pub passed: usize,
    /// What the corpus has of it.
    pub of: usize,
}

impl Part {
    fn of<T: Ord>(passed: &BTreeSet<T>, all: &BTreeSet<T>) -> Part {
        Part { passed: passed.intersection(all).count(), of: all.len() }
    }
}

/// What a run showed of a profile, as a share of what the corpus has of it, whatever was selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Rules that reject or warn: those of which every case passed. Absent for a profile without rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Part>,
    /// Opcodes: those of which a case passed. Absent for a profile that does not execute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opcodes: Option<Part>,
    /// Dtypes of buffers, in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtypes: Option<Part>,
    /// Cases.
    pub cases: Part,
}

impl Share {
    /// What the run showed of a profile.
    pub(super) fn new(profile: Profile, corpus: &Corpus, results: &[Played<'_>]) -> Share {
        let cases: Vec<&Case> =
            corpus.cases().iter().filter(|case| case.profiles.contains(&profile)).collect();
        let passed: BTreeSet<&str> = results
            .iter()
            .filter(|(unit, ended)| unit.profile == profile && matches!(ended, Ended::Passed))
            .map(|(unit, _)| unit.case.id.as_str())
            .collect();
        let rules = rules(&cases, &passed);
        let executes = cases.iter().any(|case| case.execute.is_some());
        let used = executes.then(|| used(corpus, &cases, &passed));
        Share {
            rules: (rules.of > 0).then_some(rules),
            opcodes: used.map(|(opcodes, _)| opcodes),
            dtypes: used.map(|(_, dtypes)| dtypes),
            cases: Part { passed: passed.len(), of: cases.len() },
        }
    }

    /// Whether nothing is missing.
    pub fn is_whole(&self) -> bool {
        self.cases.passed == self.cases.of
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (part, what) in [(self.rules, "rules"), (self.opcodes, "opcodes"), (self.dtypes, "dtypes")] {
            if let Some(Part { passed, of }) = part {
                write!(f, "{passed} of {of} {what}, ")?;
            }
        }
        write!(f, "{} of {} cases", self.cases.passed, self.cases.of)
    }
}

/// The rules that cases expect as a rejection or a warning, and those of which all of them passed.
fn rules(cases: &[&Case], passed: &BTreeSet<&str>) -> Part {
    let mut whole: BTreeMap<Rule, bool> = BTreeMap::new();
    for case in cases {
        let rejected = case.expect.rules.iter().filter(|_| case.expect.verdict == Verdict::Reject);
        for rule in rejected.chain(case.expect.warnings.iter().flatten()) {
            *whole.entry(*rule).or_insert(true) &= passed.contains(case.id.as_str());
        }
    }
    Part { passed: whole.values().filter(|whole| **whole).count(), of: whole.len() }
}

/// The opcodes and dtypes of the programs of cases that execute, and those of the cases that passed.
fn used(corpus: &Corpus, cases: &[&Case], passed: &BTreeSet<&str>) -> (Part, Part) {
    let mut all: (BTreeSet<Opcode>, BTreeSet<DType>) = Default::default();
    let mut shown = all.clone();
    for case in cases {
        let (opcodes, dtypes) = used_by(corpus, case);
        if passed.contains(case.id.as_str()) {
            shown.0.extend(&opcodes);
            shown.1.extend(&dtypes);
        }
        all.0.extend(opcodes);
        all.1.extend(dtypes);
    }
    (Part::of(&shown.0, &all.0), Part::of(&shown.1, &all.1))
}
