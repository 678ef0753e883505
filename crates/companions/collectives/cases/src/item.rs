//! Cases before they are written.

use megakernel_corpus::builder::{Error, Result};
use megakernel_corpus::families::{Document, Sink, words};
use megakernel_ir::registry;
use megakernel_ir::rule::Clause;
use serde_json::{Value, json};

/// A rejected or warned edit of an accepted document.
#[derive(Clone, Debug)]
pub struct Planted {
    /// The name of the file.
    pub base: String,
    /// What is planted, for the name of the case.
    pub name: String,
    /// What is planted, in words.
    pub summary: String,
    /// RFC 6902 operations.
    pub edit: Vec<Value>,
    /// The rule that breaks.
    pub rule: &'static str,
    /// Where, if there is one place.
    pub at: Option<String>,
}

/// The path of a file.
pub fn path(name: &str) -> String {
    format!("programs/collectives/{name}.json")
}

impl Planted {
    /// Pushes the case.
    ///
    /// # Errors
    /// A rule that there is not, or a case that is not well formed.
    pub fn push(&self, sink: &mut Sink) -> Result<()> {
        let mut expect = if self.rule.starts_with("CW") {
            json!({"verdict": "accept", "warnings": [self.rule]})
        } else {
            json!({"verdict": "reject", "rules": [self.rule]})
        };
        if let Some(at) = &self.at {
            expect["at"] = json!(at);
        }
        let id = format!("{}/{}-{}", sink.family(), words(&self.base), words(&self.name));
        let twin = format!("collectives/accept/{}", self.base);
        let file = path(&self.base);
        let document = Document::Edited(&file, &self.edit);
        let clauses = cited(&[self.rule])?;
        sink.push_as("validate", id, &self.summary, &["collectives"], &clauses, &document, expect, Some(twin))
    }
}

/// The headings with these ids: clauses and rules.
///
/// # Errors
/// Nothing is called so.
pub fn cited(ids: &[&str]) -> Result<Vec<Clause>> {
    let cited = |id: &&str| registry::heading(id).copied();
    ids.iter().map(|id| cited(id).ok_or_else(|| Error(format!("nothing is called `{id}`")))).collect()
}
