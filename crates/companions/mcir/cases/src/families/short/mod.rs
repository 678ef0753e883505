//! Short documents, written in lines, each with what one edit of its text breaks: a table for each subject from IS09 to IW05.

mod begins;
mod extents;
mod grids;
mod lifetimes;
mod notation;
mod peaks;
mod pipelines;
mod ranks;
mod uses;

use megakernel_corpus::builder::{Error, Result};
use megakernel_corpus::families::{Document, Library, Sink, words};
use serde_json::{Value, json};

use super::{PROFILE, cited};

/// An accepted document, and edits of it.
struct Scene {
    name: String,
    cites: Vec<&'static str>,
    text: String,
    warnings: &'static [&'static str],
    edits: Vec<Edit>,
}

struct Edit {
    name: String,
    answer: Answer,
    text: Result<String>,
}

enum Answer {
    /// Accepted with warnings.
    Accept(&'static [&'static str]),
    /// A rule, and where it is broken, see `pointer`.
    Reject(&'static str, String),
}

fn scene(name: impl Into<String>, cites: &[&'static str], text: impl Into<String>) -> Scene {
    Scene { name: name.into(), cites: cites.to_vec(), text: text.into(), warnings: &[], edits: Vec::new() }
}

/// `old -> new | old -> new`: each old text is replaced wherever it stands.
fn replaced(text: &str, edit: &str) -> Result<String> {
    let mut text = text.to_owned();
    for part in edit.split(" | ") {
        let Some((old, new)) = part.split_once(" ->").filter(|(old, _)| text.contains(old)) else {
            return Err(Error(format!("`{part}` does not apply to `{text}`")));
        };
        text = text.replace(old, new.strip_prefix(' ').unwrap_or(new));
    }
    Ok(text)
}

impl Scene {
    fn warned(mut self, warnings: &'static [&'static str]) -> Scene {
        self.warnings = warnings;
        self
    }

    fn edited(mut self, name: &str, answer: Answer, text: Result<String>) -> Scene {
        self.edits.push(Edit { name: name.to_owned(), answer, text });
        self
    }

    /// An edit after which it is accepted as well, with these warnings.
    fn accepts(self, name: &str, warnings: &'static [&'static str], edit: &str) -> Scene {
        let text = replaced(&self.text, edit);
        self.edited(name, Answer::Accept(warnings), text)
    }

    /// An edit that breaks a rule.
    fn rejects(self, name: &str, rule: &'static str, at: &str, edit: &str) -> Scene {
        let text = replaced(&self.text, edit);
        self.edited(name, Answer::Reject(rule, at.to_owned()), text)
    }

    /// Another text that breaks a rule.
    fn rejects_text(self, name: &str, rule: &'static str, at: &str, text: String) -> Scene {
        self.edited(name, Answer::Reject(rule, at.to_owned()), Ok(text))
    }
}

/// The pointer that is meant: of a body of the first region, `begin/0`; of another one, `1:begin/0`; of a region, `#1`; of a tile in its residency
/// region, `@tile`; or itself.
fn pointer(at: &str, document: &Value) -> Result<String> {
    if at.starts_with('/') {
        return Ok(at.to_owned());
    }
    if let Some(region) = at.strip_prefix('#') {
        return Ok(format!("/regions/{region}"));
    }
    if let Some(tile) = at.strip_prefix('@') {
        for (region, entry) in document["residency"].as_array().into_iter().flatten().enumerate() {
            let place =
                entry["values"].as_array().and_then(|names| names.iter().position(|name| name == tile));
            if let Some(place) = place {
                return Ok(format!("/residency/{region}/values/{place}"));
            }
        }
        return Err(Error(format!("`{tile}` is in no residency region")));
    }
    let (region, node) = at.split_once(':').unwrap_or(("0", at));
    Ok(format!("/regions/{region}/streaming/tile/{node}"))
}

fn push(sink: &mut Sink, scenes: Vec<Scene>) -> Result<()> {
    for Scene { name, cites, text, warnings, edits } in scenes {
        let plain = format!("{}/{}", sink.family(), words(&name));
        let answer = Answer::Accept(warnings);
        push_one(sink, &name, cites.clone(), &text, &answer, &plain)?;
        for edit in edits {
            let name = format!("{name}, {}", edit.name);
            push_one(sink, &name, cites.clone(), &edit.text?, &edit.answer, &plain)?;
        }
    }
    Ok(())
}

fn push_one(
    sink: &mut Sink,
    name: &str,
    mut cites: Vec<&'static str>,
    text: &str,
    answer: &Answer,
    plain: &str,
) -> Result<()> {
    let document = notation::document(text).map_err(|error| Error(format!("{name}: {}", error.0)))?;
    let id = format!("{}/{}", sink.family(), words(name));
    let (expect, twin) = match answer {
        Answer::Accept(warnings) => {
            cites.extend(*warnings);
            // Beside a document of which is warned whatever is edited stands a plain one.
            let twin = if id == plain { format!("{}/one-copy", sink.family()) } else { plain.to_owned() };
            let expect = json!({"verdict": "accept", "warnings": warnings});
            (expect, (!warnings.is_empty()).then_some(twin))
        }
        Answer::Reject(rule, at) => {
            cites.insert(0, rule);
            let at = pointer(at, &document)?;
            (json!({"verdict": "reject", "rules": [rule], "at": at}), Some(plain.to_owned()))
        }
    };
    let text = document.to_string();
    sink.push_as("validate", id, name, PROFILE, &cited(&cites)?, &Document::Text(&text), expect, twin)
}

/// The plainest document.
fn one_copy() -> Scene {
    scene("one copy", &["MCI-04"], "in X 4; out Y 4; shared x 4; region r; load X x 0; store x Y 0")
}

macro_rules! families {
    ($($(#[$what:meta])+ $name:ident)+) => {
        $($(#[$what])+
        ///
        /// # Errors
        /// A case that is not well formed.
        pub fn $name(_: &Library, sink: &mut Sink) -> Result<()> {
            push(sink, $name::all())
        })+
    };
}

families! {
    /// IB01: the least and the largest index.
    begins
    /// IB02 and IB03: grids of stores.
    grids
    /// IL02: where a tile of each lifetime may stand.
    lifetimes
    /// IT01 and IT02: from where to where a tile takes memory.
    peaks
    /// IO01 to IO05.
    pipelines
    /// IM01, IM02 and the warnings.
    uses
}

/// IS09 and IS10: extents that have to be the same, how many there are, and results.
///
/// # Errors
/// A case that is not well formed.
pub fn extents(_: &Library, sink: &mut Sink) -> Result<()> {
    push(sink, extents::all())?;
    push(sink, ranks::all())
}
