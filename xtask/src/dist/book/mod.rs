//! The specification and the documents as a book, which mdBook makes: with search, with the cases of every rule and clause, and with the
//! formulas of the opcodes typeset. It needs no network and no server to be read.

mod cases;
mod dead;
mod formulas;
mod pages;
mod summary;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use megakernel_codegen::spec::Spec;

use super::{create, succeed, write};
use crate::tidy;
use crate::tidy::tree::Files;

/// No page takes more, in bytes.
const MOST_BYTES: u64 = 2_000_000;

/// What mdBook is told. Search leaves out the lists of cases, which are most of the book and say little; nothing is printed whole; and
/// no sign of the text is changed.
const CONFIG: &str = r#"[book]
title = "Megakernel conformance suite @VERSION@"
language = "en"
src = "src"

[build]
build-dir = "html"
create-missing = false
use-default-preprocessors = false

[output.html]
smart-punctuation = false
definition-lists = false
admonitions = false
no-section-label = true
input-404 = ""
additional-css = ["book.css"]

[output.html.fold]
enable = true
level = 1

[output.html.print]
enable = false

[output.html.search]
limit-results = 50
use-boolean-and = true

[output.html.search.chapter]
"cases" = { enable = false }
"#;

/// The pages of the book by path, and the files beside them that they lead to.
#[derive(Debug, Default)]
struct Source {
    /// Path below the book, with `.md`, and the text.
    pages: BTreeMap<String, String>,
    /// Paths below the repository, which are those below the book.
    files: Vec<String>,
}

/// Makes the book in `to`, with its sources in `work`.
///
/// # Errors
/// mdBook is missing or fails, a link of the book leads nowhere, or a page is too long.
pub fn make(root: &Path, work: &Path, to: &Path) -> Result<(), String> {
    let spec = Spec::read(root)?;
    if let Some(problem) = spec.problems.first() {
        return Err(problem.clone());
    }
    let cases = tidy::cases::read(&root.join("corpus/cases"))?;
    let source = source(&Files::read(root)?, &spec, &cases)?;
    for (path, text) in &source.pages {
        write(&work.join("src").join(path), text)?;
    }
    for path in &source.files {
        let below = work.join("src").join(path);
        create(below.parent().unwrap_or(&below))?;
        fs::copy(root.join(path), &below).map_err(|cause| format!("{path}: {cause}"))?;
    }
    write(&work.join("book.toml"), CONFIG.replace("@VERSION@", super::VERSION))?;
    write(&work.join("book.css"), include_str!("book.css"))?;
    succeed(
        Command::new("mdbook").arg("build").arg(work),
        "it is needed for the book: `cargo install mdbook`",
    )?;
    fs::rename(work.join("html"), to).map_err(|cause| format!("{}: {cause}", to.display()))?;
    let problems = dead::problems(to, MOST_BYTES)?;
    if problems.is_empty() { Ok(()) } else { Err(format!("the book is not whole:\n{}", problems.join("\n"))) }
}

/// All that the book is made of.
fn source(files: &Files, spec: &Spec, cases: &[tidy::cases::Case]) -> Result<Source, String> {
    let mut texts: BTreeMap<String, String> = files
        .texts()
        .filter(|(path, _)| path.ends_with(".md"))
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .collect();
    let lists = cases::lists(spec, cases);
    for (path, text) in &mut texts {
        if path.starts_with("spec/opcodes/") {
            *text = formulas::typeset(&cases::counted(spec, &lists, path, text));
        } else {
            *text = cases::counted(spec, &lists, path, text);
        }
    }
    let mut source = Source::default();
    for (path, text) in &texts {
        let (text, files) = pages::placed(path, text, &texts, files)?;
        source.pages.insert(pages::place(path), text);
        source.files.extend(files);
    }
    source.files.sort();
    source.files.dedup();
    let summary = summary::summary(&texts, &lists);
    source.pages.extend(cases::pages(lists));
    source.pages.insert("SUMMARY.md".to_owned(), summary);
    Ok(source)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use megakernel_test_support::root;

    use super::*;

    /// Of the repository as it is.
    #[test]
    fn every_page_of_the_specification_is_in_the_summary() {
        let files = Files::read(&root()).expect("files");
        let spec = Spec::read(&root()).expect("a specification");
        let source = source(&files, &spec, &[]).expect("a book");
        let summary = source.pages.get("SUMMARY.md").expect("a summary");
        let listed: BTreeSet<&str> =
            summary.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(')')).collect();
        let pages: Vec<String> = files
            .texts()
            .map(|(path, _)| path)
            .filter(|path| path.ends_with(".md") && (path.starts_with("spec/") || path.starts_with("docs/")))
            .map(pages::place)
            .collect();
        assert!(pages.len() > 100, "{}", pages.len());
        let missing: Vec<&String> = pages.iter().filter(|page| !listed.contains(page.as_str())).collect();
        assert!(missing.is_empty(), "{missing:?}");
        // And nothing is listed that is not there, or twice.
        assert!(listed.iter().all(|page| source.pages.contains_key(*page)));
        assert_eq!(summary.matches("](").count(), listed.len());
        assert_eq!(source.pages.len(), listed.len() + 1);
    }
}
