//! Rules and clauses: the ids that the specification, the code, the cases and the messages share.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use crate::generated::{CLAUSES, clause};
use crate::registry;

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

/// A rule of the specification: [`Rule::R01`] and so on, or one of an installed companion ([`registry::install`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rule(pub(crate) u16);

/// What a rule protects; the letters of its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub(crate) u16);

impl Class {
    /// Before the digits of a rule's id.
    pub fn letters(self) -> &'static str {
        registry::class(self).letters
    }

    /// In code and on command lines.
    pub fn name(self) -> &'static str {
        registry::class(self).name
    }

    /// What its rules protect.
    pub fn title(self) -> &'static str {
        registry::class(self).title
    }

    /// Whether its rules reject.
    pub fn severity(self) -> Severity {
        registry::class(self).severity
    }

    /// Its position in [`registry::classes`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
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
        registry::rules().find(|rule| rule.id() == id)
    }

    /// Id, slug and document.
    pub fn clause(self) -> &'static Clause {
        &registry::rule(self).clause
    }

    /// Stable id, such as `R01`.
    pub fn id(self) -> &'static str {
        self.clause().id
    }

    /// Name for people, such as `partial-wait`.
    pub fn slug(self) -> &'static str {
        self.clause().title
    }

    /// The class that the letters of the id name.
    pub fn class(self) -> Class {
        registry::rule(self).class
    }

    /// That of its class.
    pub fn severity(self) -> Severity {
        self.class().severity()
    }

    /// A number by which rules are in order; it is no position.
    pub const fn number(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for Clause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id)
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
        for rule in Rule::ALL {
            assert_eq!(Rule::from_id(rule.id()), Some(rule));
        }
        assert_eq!(Rule::R01.class(), Class::RACE);
        assert_eq!(Rule::TR01.class(), Class::TASK_GRAPH_RACE);
        assert_eq!(Rule::W01.severity(), Severity::Warning);
        assert_eq!(Rule::TW01.severity(), Severity::Warning);
        assert_eq!(Rule::L01.severity(), Severity::Error);
        assert_eq!(Rule::from_id("R99"), None);
    }
}
