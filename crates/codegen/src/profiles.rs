//! The tables of profiles and of companions in documents.

use std::collections::BTreeMap;

use crate::declaration::{Declaration, Severity};
use crate::region::replaced;

/// What makes the lines of a region from the declarations.
type Lines = fn(&[Declaration]) -> Vec<String>;

/// File, name of the region, its lines.
const REGIONS: &[(&str, &str, Lines)] = &[
    ("README.md", "rows", claims),
    ("spec/README.md", "companions", companions),
    ("spec/conformance.md", "rows", profiles),
];

/// The files that have such a table, as they have to be.
///
/// # Errors
/// A file lacks a region.
pub fn regions(
    declarations: &[Declaration],
    read: impl Fn(&str) -> Result<String, String>,
) -> Result<BTreeMap<&'static str, String>, String> {
    REGIONS
        .iter()
        .map(|(path, name, lines)| {
            let text = replaced(&read(path)?, "profiles", name, &lines(declarations));
            Ok((*path, text.map_err(|problem| format!("{path}: {problem}"))?))
        })
        .collect()
}

/// For whoever claims a profile.
fn claims(declarations: &[Declaration]) -> Vec<String> {
    let head = ["| profile | what you claim |", "| --- | --- |"].map(str::to_owned);
    let rows = each(declarations, |declaration, profile| {
        let name = &declaration.name;
        let companion = match declaration.is_core() {
            true => String::new(),
            false => format!(": a [companion](spec/companions/{name}/README.md) to the specification"),
        };
        format!("| `{}` | {}{companion} |", profile.name, clause(&profile.summary))
    });
    head.into_iter().chain(rows).collect()
}

/// For clause CON-01. Warnings decide no verdict.
fn profiles(declarations: &[Declaration]) -> Vec<String> {
    let head =
        ["| profile | what is claimed | classes of rules that decide its verdict |", "| --- | --- | --- |"]
            .map(str::to_owned);
    let warnings: Vec<&str> = declarations
        .iter()
        .flat_map(|declaration| &declaration.classes)
        .filter(|class| class.severity == Severity::Warning)
        .map(|class| class.letters.as_str())
        .collect();
    let rows = each(declarations, |declaration, profile| {
        let decide = profile.classes.iter().map(String::as_str).filter(|letters| !warnings.contains(letters));
        let decide = decide.collect::<Vec<_>>().join(", ");
        let (name, decide) = (&declaration.name, if decide.is_empty() { "none" } else { &decide });
        let companion = match declaration.is_core() {
            true => String::new(),
            false => format!(", as the [companion](companions/{name}/README.md) says"),
        };
        format!("| `{}` | {}{companion} | {decide} |", profile.name, clause(&profile.summary))
    });
    head.into_iter().chain(rows).collect()
}

/// For the list of chapters.
fn companions(declarations: &[Declaration]) -> Vec<String> {
    let head = ["| companion | ids | contents |", "| --- | --- | --- |"].map(str::to_owned);
    let rows = declarations.iter().filter(|declaration| !declaration.is_core()).map(|declaration| {
        let name = &declaration.name;
        let classes = declaration.classes.iter().map(|class| &class.letters);
        let ids: Vec<&str> = declaration.clauses.iter().chain(classes).map(String::as_str).collect();
        let contents = clause(&declaration.summary);
        format!("| [companions/{name}/](companions/{name}/README.md) | {} | {contents} |", ids.join(", "))
    });
    head.into_iter().chain(rows).collect()
}

fn each(
    declarations: &[Declaration],
    line: impl Fn(&Declaration, &crate::declaration::Profile) -> String,
) -> Vec<String> {
    declarations
        .iter()
        .flat_map(|declaration| declaration.profiles.iter().map(move |profile| (declaration, profile)))
        .map(|(declaration, profile)| line(declaration, profile))
        .collect()
}

/// A sentence as a part of another one: with a small letter first, unless its first word has capitals only, and without its full stop.
fn clause(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut letters = sentence.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            format!("{}{}", first.to_lowercase(), letters.as_str())
        }
        _ => sentence.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_becomes_a_clause() {
        assert_eq!(clause("Running programs."), "running programs");
        assert_eq!(clause("MPK task graphs: judging them."), "MPK task graphs: judging them");
        assert_eq!(clause(""), "");
    }

    #[test]
    fn a_document_without_the_table_is_named() {
        let problem = regions(&[], |_| Ok("nothing\n".to_owned()));
        assert!(problem.is_err_and(|problem| problem.starts_with("README.md: no line says `profiles: rows")));
    }
}
