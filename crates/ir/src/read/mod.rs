//! Reading a document: rules S01 to S07, and S16 where a threshold is no integer.
//!
//! A correct document is read once, straight into the model. Only where that fails is the text read again, as a tree of
//! places, to find every violation and its place.

mod members;
pub mod shape;
mod source;
mod text;
pub(crate) mod tree;
mod versions;

use serde::Deserialize;

use crate::diagnostic::Diagnostic;
use crate::model::Program;
use crate::rule::Rule;

pub use source::Source;
pub use text::{MAX_DEPTH, too_deep};
pub use versions::{ABI_VERSION, IR_VERSION};

/// Reads a program from the bytes of a JSON document. The error is never empty; its diagnostics are of the rules
/// S01 to S07 and S16, of the first stage of reading that finds any.
pub fn read(bytes: &[u8]) -> Result<Program<'_>, Vec<Diagnostic>> {
    let text = text::utf8(bytes).map_err(|diagnostic| vec![*diagnostic])?;
    match text::parse::<Program<'_>>(text) {
        Ok(program) => {
            let wrong = versions::check(&program.ir_version, &program.abi_version);
            if wrong.is_empty() { Ok(program) } else { Err(wrong) }
        }
        Err(error) => Err(explain(text, &error, shape::PROGRAM)),
    }
}

/// Reads a record of a companion: `shape` is the table that says of a wrong document what is wrong with it.
///
/// # Errors
/// Diagnostics of the rules S01 to S05; never none.
pub fn read_record<'a, R: Deserialize<'a>>(
    bytes: &'a [u8],
    shape: &'static [shape::Member],
) -> Result<R, Vec<Diagnostic>> {
    let text = text::utf8(bytes).map_err(|diagnostic| vec![*diagnostic])?;
    text::parse(text).map_err(|error| explain(text, &error, shape))
}

/// Reads a JSON value whose members somebody else judges: a document of a companion that no table of members describes.
///
/// # Errors
/// Diagnostics of the rules S01 and S02; never none.
pub fn read_value(bytes: &[u8]) -> Result<serde_json::Value, Vec<Diagnostic>> {
    let text = text::utf8(bytes).map_err(|diagnostic| vec![*diagnostic])?;
    let root = text::check(text).map_err(|diagnostic| vec![*diagnostic])?;
    let mut found = text::duplicates(root);
    if found.is_empty() {
        return text::parse(text).map_err(|error| {
            let position = text::position_of(text, &error);
            vec![Diagnostic::new(Rule::S01, "", error.to_string()).at(position)]
        });
    }
    let source = Source::new(text);
    for diagnostic in &mut found {
        diagnostic.position = source.position(&diagnostic.pointer);
    }
    Err(found)
}

/// Every violation of a text that the model does not take.
fn explain(text: &str, error: &serde_json::Error, record: &'static [shape::Member]) -> Vec<Diagnostic> {
    let mut found = match text::check(text) {
        Err(diagnostic) => return vec![*diagnostic],
        Ok(root) => {
            // Each stage only where the one before found nothing: which of two members counts is anyone's guess, and
            // another major version may have any members.
            let mut found = text::duplicates(root);
            if found.is_empty() && std::ptr::eq(record, shape::PROGRAM) {
                found = versions::check_tree(root);
            }
            if found.is_empty() {
                found = members::check(root, record);
            }
            found
        }
    };
    if found.is_empty() {
        // The two readers disagree: report what the first one said rather than accept.
        let position = text::position_of(text, error);
        found.push(Diagnostic::new(Rule::S04, "", error.to_string()).at(position));
    }
    let source = Source::new(text);
    for diagnostic in &mut found {
        diagnostic.position = source.position(&diagnostic.pointer).or(diagnostic.position);
    }
    found
}
