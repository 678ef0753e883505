//! Counts of the documents on which validator and explorer agree.

use std::collections::BTreeMap;

use megakernel_ir::Rule;

use crate::Subject;

/// Counts of many documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All.
    pub documents: u64,
    /// Those that no rule rejects.
    pub accepted: u64,
    /// Those rejected of which some run goes wrong.
    pub shown: u64,
    /// Those rejected of which none does.
    pub conservative: u64,
    /// By rule, and by reason in the order of [`Subject::REASONS`].
    pub rules: BTreeMap<Rule, Vec<u64>>,
}

impl Tally {
    /// Counts a document on which the two agree.
    pub fn count<S: Subject>(&mut self, verdicts: &S::Verdicts) {
        let rules = S::rules(verdicts);
        self.documents += 1;
        if rules.is_empty() {
            self.accepted += 1;
        } else if S::shows(verdicts) {
            self.shown += 1;
        } else {
            self.conservative += 1;
        }
        for (index, &rule) in rules.iter().enumerate() {
            if let Some(reason) = S::reason(verdicts, index) {
                let counts = self.rules.entry(rule).or_insert_with(|| vec![0; S::REASONS.len()]);
                counts[reason] += 1;
            }
        }
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Tally) {
        self.documents += other.documents;
        self.accepted += other.accepted;
        self.shown += other.shown;
        self.conservative += other.conservative;
        for (&rule, theirs) in &other.rules {
            let mine = self.rules.entry(rule).or_insert_with(|| vec![0; theirs.len()]);
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
    }
}
