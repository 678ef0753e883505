//! The examples of the rule chapters, of the companions too, as cases: each rule's smallest failing program, and its accepted twin.
//!
//! A rule section has either a program in a fence "json rejected" ("json warned" for a warning) with the operations
//! that mend it in a fence "json-patch twin", or two texts in fences "text rejected" and "text accepted".

use std::fs;
use std::path::{Path, PathBuf};

use megakernel_conformance::case::Case;
use megakernel_ir::Rule;
use serde_json::Value;

use super::sink::Sink;
use crate::builder::{Error, Result};
use crate::companion::{Companion, Example};

/// The fences of one rule section.
#[derive(Debug, Default)]
struct Section {
    rule: String,
    fences: Vec<(String, String)>,
}

impl Section {
    fn fence(&self, info: &str) -> Option<&str> {
        self.fences.iter().find(|(kind, _)| kind == info).map(|(_, text)| text.as_str())
    }
}

/// Reads `spec/rules/*.md`, and `rules.md` of each of the companions, below `root` and makes two cases of every rule.
///
/// # Errors
/// A chapter cannot be read, or a rule's fences are not as described above.
pub fn spec_examples(root: &Path, companions: &[Companion], seed: u64) -> Result<Vec<Case>> {
    let mut chapters: Vec<(PathBuf, Option<&Companion>)> = below(&root.join("spec/rules"))?
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .map(|path| (path, None))
        .collect();
    let of_companion = |companion: &Companion| root.join("spec/companions").join(companion.name);
    chapters.extend(companions.iter().map(|each| (of_companion(each).join("rules.md"), Some(each))));
    chapters.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut sink = Sink::new("spec", seed);
    for (chapter, companion) in &chapters {
        let text =
            fs::read_to_string(chapter).map_err(|error| Error(format!("{}: {error}", chapter.display())))?;
        for section in sections(&text).into_iter().filter(|section| Rule::from_id(&section.rule).is_some()) {
            add(&mut sink, &section, *companion)
                .map_err(|error| Error(format!("{}: rule {}: {error}", chapter.display(), section.rule)))?;
        }
    }
    Ok(sink.into_cases())
}

/// What a directory holds.
fn below(directory: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |error: std::io::Error| Error(format!("{}: {error}", directory.display()));
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        found.push(entry.map_err(unreadable)?.path());
    }
    Ok(found)
}

fn sections(chapter: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in chapter.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => open = Some((info.trim().to_owned(), String::new())),
            (Some(_), Some("")) => {
                if let (Some(section), Some(fence)) = (sections.last_mut(), open.take()) {
                    section.fences.push(fence);
                }
            }
            (Some((_, text)), _) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {
                if let Some(rule) = line.strip_prefix("### ").and_then(|title| title.split(' ').next()) {
                    sections.push(Section { rule: rule.to_owned(), ..Section::default() });
                }
            }
        }
    }
    sections
}

fn add(sink: &mut Sink, section: &Section, companion: Option<&Companion>) -> Result<()> {
    let rule = section.rule.as_str();
    let (broken, twin) = (format!("{rule}/rejected"), format!("{rule}/accepted"));
    if let (Some(rejected), Some(accepted)) = (section.fence("text rejected"), section.fence("text accepted"))
    {
        let (rejected, accepted) = (strip_newline(rejected), strip_newline(accepted));
        let summary = format!("the text of the specification that rule {rule} rejects");
        sink.reject_text(&broken, &summary, &[rule], &twin, rejected)?;
        return sink.accept_text(&twin, "the twin of the specification's rejected text", &[rule], accepted);
    }
    let warned = section.fence("json warned");
    let text = section.fence("json rejected").or(warned);
    let (Some(text), Some(patch)) = (text, section.fence("json-patch twin")) else {
        return Err(Error("needs a rejected program and a json-patch twin".to_owned()));
    };
    let json = |text: &str| -> Result<Value> { serde_json::from_str(text).map_err(|e| Error(e.to_string())) };
    let mut accepted = json(text)?;
    let patch: json_patch::Patch = serde_json::from_value(json(patch)?).map_err(|e| Error(e.to_string()))?;
    json_patch::patch(&mut accepted, &patch).map_err(|e| Error(format!("the twin does not apply: {e}")))?;
    let text = strip_newline(text);
    if let Some(companion) = companion {
        let example = Example { rule, text, warned: warned.is_some(), accepted: &accepted };
        return (companion.spec_example)(sink, &example);
    }
    if warned.is_some() {
        sink.warn_text(
            &format!("{rule}/warned"),
            "the program that the specification warns of",
            rule,
            &twin,
            text,
        )?;
    } else {
        let summary = format!("the program of the specification that rule {rule} rejects");
        sink.reject_text(&broken, &summary, &[rule], &twin, text)?;
    }
    sink.accept_text(&twin, "the twin of the specification's program", &[rule], &accepted.to_string())
}

fn strip_newline(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}
