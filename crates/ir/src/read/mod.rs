//! Reading a document: rules S01 to S07, and S16 where a threshold is no integer.
//!
//! A correct document is read once, straight into the model. Only where that fails is the text parsed again into a
//! syntax tree with positions, to find every violation and its place.

mod members;
mod shape;
mod text;
mod versions;

use std::ops::Range;

use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions};

use crate::diagnostic::{Diagnostic, Position};
use crate::model::Program;
use crate::rule::Rule;
use crate::task_graph::{KernelGraph, System, TaskGraph, Translation};

pub use versions::{ABI_VERSION, IR_VERSION};

/// Reads a program from the bytes of a JSON document. The error is never empty; its diagnostics are of the rules
/// S01 to S07 and S16, of the first stage of reading that finds any.
pub fn read(bytes: &[u8]) -> Result<Program<'_>, Vec<Diagnostic>> {
    let text = text::utf8(bytes).map_err(|diagnostic| vec![*diagnostic])?;
    match serde_json::from_str::<Program<'_>>(text) {
        Ok(program) => {
            let wrong = versions::check(&program.ir_version, &program.abi_version);
            if wrong.is_empty() { Ok(program) } else { Err(wrong) }
        }
        Err(error) => Err(explain(text, &error, shape::PROGRAM)),
    }
}

macro_rules! companion {
    ($($(#[$meta:meta])* $name:ident $record:ident $shape:ident;)+) => {$(
        $(#[$meta])*
        ///
        /// # Errors
        /// Diagnostics of the rules S01 to S05; never none.
        pub fn $name(bytes: &[u8]) -> Result<$record<'_>, Vec<Diagnostic>> {
            let text = text::utf8(bytes).map_err(|diagnostic| vec![*diagnostic])?;
            serde_json::from_str(text).map_err(|error| explain(text, &error, shape::$shape))
        }
    )+};
}

companion! {
    /// Reads the task graph of one rank (clause TGR-01).
    read_task_graph TaskGraph TASK_GRAPH;
    /// Reads the task graphs of all ranks (clause TGR-01).
    read_system System SYSTEM;
    /// Reads a kernel graph (clause TGR-11).
    read_kernel_graph KernelGraph KERNEL_GRAPH;
    /// Reads a request to translate (clause TGR-16).
    read_translation Translation TRANSLATION;
}

/// Every violation of a text that the model does not take.
fn explain(text: &str, error: &serde_json::Error, root: &'static [shape::Member]) -> Vec<Diagnostic> {
    let mut found = match text::check(text) {
        Err(diagnostic) => return vec![*diagnostic],
        Ok(tree) => {
            // Each stage only where the one before found nothing: which of two members counts is anyone's guess, and
            // another major version may have any members.
            let mut found = text::duplicates(&tree);
            if found.is_empty() && std::ptr::eq(root, shape::PROGRAM) {
                found = versions::check_tree(&tree);
            }
            if found.is_empty() {
                found = members::check(&tree, root);
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

/// Parses text that [`text::check`] has accepted.
pub(crate) fn syntax_tree(text: &str) -> Result<Node<'_>, String> {
    let strict = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    match jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &strict) {
        Ok(parsed) => parsed.value.ok_or_else(|| "the text holds no value".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The text of a document, for finding the place of a JSON pointer (clause FMT-07).
pub struct Source<'a> {
    text: &'a str,
    tree: Option<Node<'a>>,
}

impl<'a> Source<'a> {
    /// A text that may be anything; no place is found in one that is not JSON.
    pub fn new(text: &'a str) -> Source<'a> {
        Source { text, tree: text::check(text).ok() }
    }

    /// The bytes of the value that `pointer` names. Of a value that is not there, its nearest ancestor's.
    pub fn range(&self, pointer: &str) -> Option<Range<usize>> {
        let mut node = self.tree.as_ref()?;
        for token in pointer.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            let child = match node {
                Node::Object(object) => {
                    object.properties.iter().rev().find(|p| p.name.as_str() == token).map(|p| &p.value)
                }
                Node::Array(array) => token.parse::<usize>().ok().and_then(|index| array.elements.get(index)),
                _ => None,
            };
            match child {
                Some(child) => node = child,
                None => break,
            }
        }
        let range = node.range();
        Some(range.start..range.end)
    }

    /// Line and column of the value that `pointer` names.
    pub fn position(&self, pointer: &str) -> Option<Position> {
        Some(Position::of_offset(self.text, self.range(pointer)?.start))
    }
}
