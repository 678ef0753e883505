//! The specification's text: sections, code blocks, and the examples of its rules.

use megakernel_codegen::markdown::code_blocks;
use megakernel_codegen::spec::Spec;
use megakernel_codegen::{Example, Twin};
use serde_json::Value;

use crate::root;

fn read() -> Spec {
    Spec::read(&root()).unwrap_or_else(|problem| panic!("{problem}"))
}

/// The text of the section of a rule or clause, without its heading.
#[track_caller]
pub fn section(id: &str) -> String {
    let found = read().definitions.into_iter().find(|definition| definition.id == id);
    found.unwrap_or_else(|| panic!("the specification has no section {id}")).body
}

/// The code blocks of a section whose info string is `info`, without a line end after them; at least one.
#[track_caller]
pub fn blocks(id: &str, info: &str) -> Vec<String> {
    let blocks = code_blocks(&section(id)).into_iter().filter(|block| block.info.trim() == info);
    let texts: Vec<String> =
        blocks.map(|block| block.text.strip_suffix('\n').unwrap_or(&block.text).to_owned()).collect();
    assert!(!texts.is_empty(), "{id} has no block `{info}`");
    texts
}

/// The smallest document that breaks a rule, and the accepted one in its place.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The id of the rule.
    pub rule: String,
    /// The document that breaks it, as it stands in the text.
    pub failing: String,
    /// Whether the rule only warns.
    pub warned: bool,
    /// The accepted document.
    pub accepted: String,
}

/// The examples of all rules, those of companions too.
#[track_caller]
pub fn examples() -> Vec<Shown> {
    let shown: Vec<Shown> = read()
        .rules()
        .map(|rule| {
            let id = &rule.id;
            let Example { failing, warned, twin } =
                rule.example().unwrap_or_else(|| panic!("{id} has no example"));
            let accepted = match twin {
                Twin::Text(text) => text,
                Twin::Edit(edit) => patched(&failing, &edit).unwrap_or_else(|error| panic!("{id}: {error}")),
            };
            Shown { rule: id.clone(), failing, warned, accepted }
        })
        .collect();
    assert!(!shown.is_empty(), "the specification has no rule");
    shown
}

fn patched(document: &str, edit: &str) -> Result<String, Box<dyn std::error::Error>> {
    let edit: json_patch::Patch = serde_json::from_str(edit)?;
    let mut document: Value = serde_json::from_str(document)?;
    json_patch::patch(&mut document, &edit)?;
    Ok(document.to_string())
}
