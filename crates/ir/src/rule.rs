//! Rules and clauses: the ids that the specification, the code, the cases and the messages share.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use crate::generated::{CLAUSES, Rule};

/// A numbered heading of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Stable id, such as `R01` or `FMT-03`.
    pub id: &'static str,
    /// For a rule its slug, for any other clause its title.
    pub title: &'static str,
    /// The file that holds the clause, relative to the root of the repository.
    pub document: &'static str,
}

/// What a rule protects; the letters of its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// S: the document is a well-formed program.
    Structure,
    /// D: every execution finishes.
    Deadlock,
    /// R: every execution computes the same.
    Race,
    /// P: buffers that share a page do not clobber each other.
    Pages,
    /// M: every access stays within its buffer and reads what was written.
    MemorySafety,
    /// L: the launch contract of the target.
    Launch,
    /// W: suspicious, never a reason to reject.
    Warning,
    /// TS: the document is a well-formed task graph.
    TaskGraphStructure,
    /// TD: every task of a task graph runs, and the graph ends.
    TaskGraphDeadlock,
    /// TR: every execution of a task graph computes the same.
    TaskGraphRace,
    /// TB: every tile stays within its tensor.
    TaskGraphBounds,
    /// TX: the graphs of several ranks fit together.
    TaskGraphRanks,
    /// TK: the kernel graph can be translated.
    KernelGraph,
    /// TW: suspicious in a task graph, never a reason to reject.
    TaskGraphWarning,
}

/// Whether a diagnostic rejects the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The program is rejected.
    Error,
    /// The program is accepted all the same.
    Warning,
}

impl Rule {
    /// The rule with this id.
    pub fn from_id(id: &str) -> Option<Rule> {
        Rule::ALL.iter().copied().find(|rule| rule.id() == id)
    }

    /// Stable id, such as `R01`.
    pub const fn id(self) -> &'static str {
        self.clause().id
    }

    /// Name for people, such as `partial-wait`.
    pub const fn slug(self) -> &'static str {
        self.clause().title
    }

    /// The class that the letters of the id name.
    pub const fn class(self) -> Class {
        match self.id().as_bytes() {
            [b'T', b'S', ..] => Class::TaskGraphStructure,
            [b'T', b'D', ..] => Class::TaskGraphDeadlock,
            [b'T', b'R', ..] => Class::TaskGraphRace,
            [b'T', b'B', ..] => Class::TaskGraphBounds,
            [b'T', b'X', ..] => Class::TaskGraphRanks,
            [b'T', b'K', ..] => Class::KernelGraph,
            [b'T', ..] => Class::TaskGraphWarning,
            [b'S', ..] => Class::Structure,
            [b'D', ..] => Class::Deadlock,
            [b'R', ..] => Class::Race,
            [b'P', ..] => Class::Pages,
            [b'M', ..] => Class::MemorySafety,
            [b'L', ..] => Class::Launch,
            _ => Class::Warning,
        }
    }

    /// Warnings are of the classes W and TW; every other rule rejects.
    pub const fn severity(self) -> Severity {
        match self.class() {
            Class::Warning | Class::TaskGraphWarning => Severity::Warning,
            _ => Severity::Error,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Rule::from_id(&id).ok_or_else(|| serde::de::Error::custom(format_args!("no rule has the id `{id}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_find_their_rule_and_class() {
        for &rule in Rule::ALL {
            assert_eq!(Rule::from_id(rule.id()), Some(rule));
        }
        assert_eq!(Rule::R01.class(), Class::Race);
        assert_eq!(Rule::TR01.class(), Class::TaskGraphRace);
        assert_eq!(Rule::W01.severity(), Severity::Warning);
        assert_eq!(Rule::TW01.severity(), Severity::Warning);
        assert_eq!(Rule::L01.severity(), Severity::Error);
        assert_eq!(Rule::from_id("R99"), None);
    }
}
