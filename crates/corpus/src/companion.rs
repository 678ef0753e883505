//! What the generator takes from a companion of the specification. Whoever composes the generator lists the companions; this
//! crate knows none.

use serde_json::Value;

use crate::builder::Result;
use crate::families::{Cases, Sink};

/// A file: its path below `corpus/`, and its bytes.
pub type File = (String, Vec<u8>);

/// A companion's part of the corpus.
#[derive(Clone, Copy)]
pub struct Companion {
    /// Its folder below `spec/companions`.
    pub name: &'static str,
    /// Its families, by the id that starts the ids of their cases.
    pub families: &'static [(&'static str, Cases)],
    /// The accepted documents that its cases start from: files by path below `corpus/`.
    pub files: fn() -> Result<Vec<File>>,
    /// Makes the two cases of an example in its chapter of rules.
    pub spec_example: fn(&mut Sink, &Example<'_>) -> Result<()>,
}

/// The smallest document that breaks a rule, in the section of that rule.
#[derive(Clone, Copy, Debug)]
pub struct Example<'a> {
    /// The id of the rule.
    pub rule: &'a str,
    /// The document.
    pub text: &'a str,
    /// Whether the rule only warns of it.
    pub warned: bool,
    /// The accepted twin.
    pub accepted: &'a Value,
}
