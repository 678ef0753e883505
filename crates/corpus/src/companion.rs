//! What the generator takes from a companion of the specification. Whoever composes the generator lists the companions; this
//! crate knows none.

use megakernel_conformance::case::Case;
use megakernel_conformance::store::Corpus;
use megakernel_ir::protocol::Worker;
use megakernel_ir::rule::Rule;
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
    /// Plays the faults that its cases have to reject, if it has some.
    pub measure: Option<Measure>,
}

/// Plays faults on the wanted cases of a corpus. What an implementation without a fault is too plain to say, the references say.
pub type Measure =
    fn(&Corpus, &dyn Fn(&Case) -> bool, &mut dyn Worker) -> std::result::Result<Measured, String>;

/// What the faults of a companion came to.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// How many faults there are.
    pub faults: usize,
    /// How many cases were played.
    pub cases: usize,
    /// What the page on adequacy says of them: a heading, a paragraph, the kill table.
    pub text: String,
    /// A line for each fault that too few cases reject.
    pub survivors: Vec<String>,
    /// A line for each case that the implementation without a fault fails.
    pub false_alarms: Vec<String>,
}

/// The smallest document that breaks a rule, in the section of that rule.
#[derive(Clone, Copy, Debug)]
pub struct Example<'a> {
    /// The rule.
    pub rule: Rule,
    /// The document.
    pub text: &'a str,
    /// Whether the rule only warns of it.
    pub warned: bool,
    /// The accepted twin.
    pub accepted: &'a Value,
}
