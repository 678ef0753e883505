//! Single sabotages, each on a copy of the repository's files, and the check that sees it: for each it says the place. The table in
//! docs/versioning.md is this list.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use megakernel_codegen::declaration::Declaration;
use megakernel_codegen::markdown::{CodeBlock, code_blocks};
use megakernel_codegen::spec::Spec;
use megakernel_conformance::evidence::Evidence;
use megakernel_test_support::schemas;
use serde_json::Value;

use crate::ledger::{Ledger, compare};
use crate::release_gate::{evidence, figures};
use crate::tidy::cases::Case;
use crate::tidy::tree::Files;
use crate::tidy::{examples, habits, ids, links, versions};

mod list;

/// A sabotage: what is done, the check that has to see it, what its message has to hold, and how it is done.
struct Sabotage {
    what: &'static str,
    seen_by: &'static str,
    place: &'static str,
    edit: fn(&mut Files),
}

/// What a check says of files.
type Look = fn(&Files) -> Vec<String>;

/// What the table calls each check, and the check as a function of files.
const CHECKS: [(&str, Look); 12] = [
    ("ledger", |files| match ledger(files) {
        Ok(now) => compare(&REPOSITORY.ledger, &now).refused,
        Err(problem) => vec![problem],
    }),
    ("tidy: versions", |files| versions::unlike(files).unwrap_or_else(|problem| vec![problem])),
    ("tidy: ids", |files| spec(files).problems),
    ("tidy: rules in code", |files| ids::in_code(&spec(files), files)),
    ("tidy: cases of rules", |files| ids::rule_cases(&spec(files), &cases(files))),
    ("tidy: ids in documents", |files| ids::mentioned(&spec(files), files)),
    ("tidy: links", links::broken),
    ("tidy: examples", examples::broken),
    ("tests: schemas", |files| {
        let (page, heading) = ("spec/conformance.md", "### CON-05 ");
        let (before, after) = files.text(page).expect("a page").split_once(heading).expect("a section");
        let case = schemas::validator("case");
        let shown = code_blocks(after.split("\n### ").next().unwrap_or_default());
        let unlike = |block: CodeBlock| {
            // What is no JSON at all is another check's.
            let found = serde_json::from_str(&block.text).map(|value| schemas::errors(&case, &value));
            let line = before.lines().count() + block.line;
            found.unwrap_or_default().into_iter().map(move |what| format!("{page}:{line}: {what}"))
        };
        shown.into_iter().filter(|block| block.info == "json").flat_map(unlike).collect()
    }),
    ("tidy: merges", habits::merge_marks),
    ("gate: figures", |files| figures::wrong(files, &REPOSITORY.cases)),
    ("gate: evidence", |files| {
        let records =
            files.texts().filter(|(path, _)| path.starts_with("evidence/") && path.ends_with(".json"));
        let of = |(path, text): (&str, &str)| {
            let unread = Evidence::read(text).err();
            let found = evidence::wrong(text, &targets(files)).into_iter().chain(unread);
            found.map(|what| format!("{path}: {what}")).collect::<Vec<_>>()
        };
        records.flat_map(of).collect()
    }),
];

/// The repository, with a part of the corpus, so that it is quick to read again and again.
struct Repository {
    files: Files,
    declarations: Vec<Declaration>,
    ledger: Ledger,
    /// All cases of the corpus.
    cases: Vec<Case>,
}

/// The family whose cases are looked at.
const FAMILY: &str = "race/first-k-of-n/";

/// And those that its cases differ from by one edit.
const TWINS: &str = "accept/";

const MANIFEST: &str = "corpus/manifest.json";

static REPOSITORY: LazyLock<Repository> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Files::read(&root).expect("files");
    let cases = cases(&files);
    files.retain(|path| {
        let other = ["corpus/cases/", "corpus/programs/", "fixtures/", "fuzz/", "releases/"];
        !other.iter().any(|folder| path.starts_with(folder))
            || path
                .strip_prefix("corpus/cases/")
                .is_some_and(|id| id.starts_with(FAMILY) || id.starts_with(TWINS))
    });
    edit_json(&mut files, MANIFEST, |manifest| {
        let cases = manifest["cases"].as_array_mut().expect("cases");
        cases.retain(|entry| entry["id"].as_str().is_some_and(|id| id.starts_with(FAMILY)));
        assert!(cases.len() > 20, "{FAMILY} has {} cases", cases.len());
    });
    let declarations = Declaration::read_all(&root).expect("declarations");
    let mut ledger = Ledger::of(&files, declarations.clone()).expect("a ledger");
    // They are of an open section, whatever the heading of the changelog says.
    ledger.released = false;
    Repository { files, declarations, ledger, cases }
});

fn ledger(files: &Files) -> Result<Ledger, String> {
    Ledger::of(files, REPOSITORY.declarations.clone())
}

fn spec(files: &Files) -> Spec {
    let pages = files.texts().filter(|(path, _)| path.starts_with("spec/") && path.ends_with(".md"));
    let pages: Vec<(String, String)> = pages.map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
    Spec::from_files(&pages, REPOSITORY.declarations.clone())
}

fn cases(files: &Files) -> Vec<Case> {
    let cases = files.texts().filter(|(path, _)| path.starts_with("corpus/cases/"));
    cases
        .map(|(path, text)| serde_json::from_str(text).unwrap_or_else(|e| unreachable!("{path}: {e}")))
        .collect()
}

fn targets(files: &Files) -> Vec<evidence::Target> {
    let records = files.texts().filter(|(path, _)| path.starts_with("targets/") && path.ends_with(".json"));
    let of = |(path, text): (&str, &str)| {
        let record: Value = serde_json::from_str(text).expect("a target record");
        evidence::Target {
            name: path.trim_start_matches("targets/").trim_end_matches(".json").to_owned(),
            arch: record["target"]["sm_arch"].as_u64().expect("sm_arch"),
            devices: serde_json::from_value(record["devices"].clone()).expect("devices"),
        }
    };
    records.map(of).collect()
}

/// Replaces a text, which has to be there, where it stands first.
#[track_caller]
fn replace(files: &mut Files, path: &str, from: &str, to: &str) {
    let text = files.text(path).expect("a text").to_owned();
    assert!(text.contains(from), "{path} has no `{from}`");
    files.set(path, Some(text.replacen(from, to, 1)));
}

/// Replaces a text below a heading.
#[track_caller]
fn below(files: &mut Files, path: &str, heading: &str, from: &str, to: &str) {
    let text = files.text(path).expect("a text").to_owned();
    let (before, after) =
        text.split_once(heading).unwrap_or_else(|| unreachable!("{path} has no `{heading}`"));
    let section = after.split("\n### ").next().unwrap_or_default();
    assert!(section.contains(from), "{path}: {heading} has no `{from}`");
    files.set(path, Some(format!("{before}{heading}{}", after.replacen(from, to, 1))));
}

fn edit_json(files: &mut Files, path: &str, edit: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_str(files.text(path).expect("a text")).expect("JSON");
    edit(&mut value);
    files.set(path, Some(serde_json::to_string_pretty(&value).expect("JSON")));
}

/// A message with `#` in place of the line, which changes with every edit above it.
fn without_lines(message: &str) -> String {
    let is_line = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    message.split(':').map(|part| if is_line(&part) { "#" } else { part }).collect::<Vec<_>>().join(":")
}

#[test]
fn every_sabotage_is_seen_with_its_place() {
    assert!(list::SABOTAGES.len() >= 30);
    let before: BTreeMap<&str, Vec<String>> =
        CHECKS.iter().map(|(name, check)| (*name, check(&REPOSITORY.files))).collect();
    let mut failures = Vec::new();
    for Sabotage { what, seen_by, place, edit } in list::SABOTAGES {
        let (_, check) = CHECKS.iter().find(|(name, _)| name == seen_by).expect("a check of this name");
        let mut files = REPOSITORY.files.clone();
        edit(&mut files);
        let mut found = check(&files);
        found.retain(|problem| !before[seen_by].contains(problem));
        if !found.iter().any(|problem| without_lines(problem).contains(place)) {
            failures.push(format!("{what}: `{place}` is not in {found:#?}"));
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), list::SABOTAGES.len(), failures.join("\n"));
}

#[test]
fn the_ledger_of_the_unharmed_repository_refuses_nothing() {
    let found = compare(&REPOSITORY.ledger, &ledger(&REPOSITORY.files).expect("a ledger"));
    assert!(found.refused.is_empty() && found.counts.is_empty(), "{found}");
    let text = REPOSITORY.ledger.to_text().expect("a text");
    let read = Ledger::read(&text).expect("a ledger");
    let found = compare(&read, &REPOSITORY.ledger);
    assert!(found.refused.is_empty() && found.counts.is_empty(), "{found}");
    assert_eq!(read.to_text(), Ok(text));
}

#[test]
fn the_table_is_this_list() {
    let row = |sabotage: &Sabotage| format!("| {} | {} |\n", sabotage.what, sabotage.seen_by);
    let table: String = list::SABOTAGES.iter().map(row).collect();
    let page = REPOSITORY.files.text("docs/versioning.md").expect("a page");
    assert!(page.contains(&table), "docs/versioning.md has to have these rows:\n{table}");
}
