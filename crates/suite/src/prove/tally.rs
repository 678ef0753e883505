//! Counts of the programs on which validator and explorer agree.

use megakernel_ir::Rule;
use megakernel_reference::agreement::{Reason, Verdicts};

/// Counts of many programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All.
    pub programs: u64,
    /// Those that no rule rejects.
    pub accepted: u64,
    /// Those rejected of which some run goes wrong.
    pub shown: u64,
    /// Those rejected of which none does.
    pub conservative: u64,
    /// By rule, as [`Rule::ALL`] has them, and reason.
    pub rules: Vec<[u64; Reason::ALL.len()]>,
}

impl Tally {
    /// Counts a program on which the two agree.
    pub fn count(&mut self, verdicts: &Verdicts) {
        self.rules.resize(Rule::ALL.len(), Default::default());
        self.programs += 1;
        if verdicts.rules.is_empty() {
            self.accepted += 1;
        } else if verdicts.faults.shows() {
            self.shown += 1;
        } else {
            self.conservative += 1;
        }
        for (&rule, reason) in verdicts.rules.iter().zip(&verdicts.reasons) {
            if let Some(reason) = reason {
                self.rules[rule as usize][*reason as usize] += 1;
            }
        }
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Tally) {
        self.rules.resize(Rule::ALL.len(), Default::default());
        self.programs += other.programs;
        self.accepted += other.accepted;
        self.shown += other.shown;
        self.conservative += other.conservative;
        for (mine, theirs) in self.rules.iter_mut().zip(&other.rules) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
    }
}
