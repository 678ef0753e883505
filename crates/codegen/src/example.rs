//! The example of a rule: the smallest document that breaks it, and what is accepted in its place.

use crate::markdown::code_blocks;
use crate::spec::Definition;

/// What the section of a rule shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The document that breaks the rule, without a line end after it.
    pub failing: String,
    /// Whether the rule only warns.
    pub warned: bool,
    /// What is accepted.
    pub twin: Twin,
}

/// The accepted twin of a failing document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Twin {
    /// A text of its own.
    Text(String),
    /// Operations on the failing document: a JSON Patch.
    Edit(String),
}

impl Definition {
    /// The example of a rule: a document in a fence `json rejected` (`json warned` for a warning) with the operations that mend it in
    /// a fence `json-patch twin`, or two texts in fences `text rejected` and `text accepted`. Nothing where the section has none.
    pub fn example(&self) -> Option<Example> {
        let blocks = code_blocks(&self.body);
        let fence = |info: &str| {
            let block = blocks.iter().find(|block| block.info.trim() == info)?;
            Some(block.text.strip_suffix('\n').unwrap_or(&block.text).to_owned())
        };
        if let (Some(failing), Some(accepted)) = (fence("text rejected"), fence("text accepted")) {
            return Some(Example { failing, warned: false, twin: Twin::Text(accepted) });
        }
        let twin = Twin::Edit(fence("json-patch twin")?);
        let rejected = fence("json rejected");
        let warned = rejected.is_none();
        Some(Example { failing: rejected.or_else(|| fence("json warned"))?, warned, twin })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::declaration::Declaration;
    use crate::spec::Spec;

    fn example(body: &str) -> Option<Example> {
        let text =
            format!("# Rules\n\n### S01 not-json\n\n{body}\n\n### S02 other\n\n```json rejected\n[]\n```\n");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let declarations = Declaration::read_all(&root).expect("declarations");
        let spec = Spec::from_files(&[("spec/rules/structure.md".to_owned(), text)], declarations);
        spec.definitions.iter().find(|found| found.id == "S01").and_then(Definition::example)
    }

    #[test]
    fn a_section_shows_a_document_and_its_twin() {
        let shown = example("```json warned\n{}\n{}\n```\n\nIts repair.\n\n```json-patch twin\n[]\n```");
        let twin = Twin::Edit("[]".to_owned());
        assert_eq!(shown, Some(Example { failing: "{}\n{}".to_owned(), warned: true, twin }));
        let shown = example("````text rejected\n```\n````\n\n```text accepted\n{}\n```");
        let twin = Twin::Text("{}".to_owned());
        assert_eq!(shown, Some(Example { failing: "```".to_owned(), warned: false, twin }));
        // What is rejected and has no twin is half an example, and that of the next rule is none of this one.
        assert_eq!(example("```json rejected\n{}\n```"), None);
    }
}
