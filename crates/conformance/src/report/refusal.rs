//! Why a report is not taken at its word.

use std::fmt;

/// Why a report cannot be relied on, or not here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is about another corpus, or by another version of the suite.
    Elsewhere(String),
    /// It is not what is asked for: no report, or not one of a whole run.
    Unfit(String),
    /// It does not follow from what it lists.
    Contradiction(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Elsewhere(why) | Refusal::Unfit(why) => write!(f, "{why}"),
            Refusal::Contradiction(why) => write!(f, "no run wrote this report: {why}"),
        }
    }
}
