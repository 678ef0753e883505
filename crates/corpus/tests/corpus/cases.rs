//! What holds for every generated case, whatever an implementation answers.

#![allow(clippy::panic, reason = "a helper of a test fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

use megakernel_conformance::case::{Case, Document, Verdict};
use megakernel_corpus::generate::{Generated, Options, WHOLE, base_of, generate};
use megakernel_ir::Rule;
use megakernel_ir::protocol::{Method, Profile};
use megakernel_ir::rule::CLAUSES;
use megakernel_test_support::part;
use serde_json::Value;

fn generated(jobs: usize) -> Generated {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let companions = &[
        megakernel_collectives_cases::COMPANION,
        megakernel_mcir_cases::COMPANION,
        megakernel_schedule_cases::COMPANION,
        megakernel_selection_cases::COMPANION,
        megakernel_task_graph_cases::COMPANION,
    ];
    let options =
        Options { root, companions, seed: 0, jobs, oracle: None, certify: None, wanted: WHOLE, begun: WHOLE };
    generate(&options).expect("the corpus generates")
}

/// The corpus without what is executed, made once for all tests.
fn corpus() -> &'static Generated {
    static CORPUS: OnceLock<Generated> = OnceLock::new();
    CORPUS.get_or_init(|| generated(1))
}

fn by_id(corpus: &Generated) -> BTreeMap<&str, &Case> {
    corpus.cases.iter().map(|case| (case.id.as_str(), case)).collect()
}

/// The document of a case as JSON, if it is JSON.
fn document(corpus: &Generated, case: &Case) -> Option<Value> {
    match &case.document {
        Document::Base { base, edit } => {
            let text = corpus.files.get(base).unwrap_or_else(|| panic!("{}: no file {base}", case.id));
            let mut value: Value = serde_json::from_slice(text).expect("a program file is JSON");
            json_patch::patch(&mut value, edit).unwrap_or_else(|error| panic!("{}: {error}", case.id));
            Some(value)
        }
        Document::Text { text } => serde_json::from_str(text).ok(),
        Document::Base64 { .. } => None,
    }
}

fn family(case: &&Case) -> String {
    case.provenance.family.clone()
}

/// The rules a case rejects or warns under.
fn rules(case: &Case) -> impl Iterator<Item = Rule> {
    let rejecting = case.expect.rules.iter().filter(|_| case.expect.verdict == Verdict::Reject);
    rejecting.chain(case.expect.warnings.iter().flatten()).copied()
}

#[test]
fn every_edit_applies_and_changes_its_base() {
    let corpus = corpus();
    for case in part::one_in_each(7, corpus.cases.iter(), family) {
        let Document::Base { base, edit } = &case.document else { continue };
        let edited = document(corpus, case);
        if !edit.0.is_empty() {
            let plain: Value = serde_json::from_slice(&corpus.files[base]).expect("a program file is JSON");
            assert_ne!(edited, Some(plain), "{}: the edit changes nothing", case.id);
        }
    }
}

#[test]
fn every_rejected_case_has_an_accepted_twin_that_differs_by_the_edit_alone() {
    let corpus = corpus();
    let cases = by_id(corpus);
    let rejected = corpus.cases.iter().filter(|case| rules(case).next().is_some());
    for case in part::one_in_each(7, rejected, family) {
        let id = case.twin.as_deref().unwrap_or_else(|| panic!("{}: no twin", case.id));
        let twin = cases.get(id).unwrap_or_else(|| panic!("{}: its twin {id} does not exist", case.id));
        assert_eq!(twin.expect.verdict, Verdict::Accept, "{}: its twin {id} is not accepted", case.id);
        if is_twin_by_method(case, twin) {
            continue;
        }
        assert_eq!(twin.expect.warnings, Some(Vec::new()), "{}: its twin {id} may be warned of", case.id);
        if let Document::Base { edit, .. } = &case.document {
            assert_eq!(base_of(case), base_of(twin), "{}: the twin has another base", case.id);
            let value = document(corpus, twin).expect("a program");
            let twin_has_no_edit = matches!(&twin.document, Document::Base { edit, .. } if edit.0.is_empty());
            assert!(twin_has_no_edit, "{}: the twin is edited too", case.id);
            let edited = document(corpus, case).expect("a program");
            assert_differs_only_there(case, &value, &edited, edit);
        }
    }
}

/// Whether a case differs from its twin by what is asked alone: nothing is wrong with the document, and yet there is no answer.
fn is_twin_by_method(case: &Case, twin: &Case) -> bool {
    case.document == twin.document && case.method != twin.method && twin.method == Method::VALIDATE
}

/// Every difference of two documents lies in an object or array that an operation of the edit names a member of.
fn assert_differs_only_there(case: &Case, before: &Value, after: &Value, edit: &json_patch::Patch) {
    let parents: Vec<String> = edit
        .0
        .iter()
        .map(|operation| operation.path().to_string())
        .map(|path| path.rsplit_once('/').map_or(String::new(), |(parent, _)| parent.to_owned()))
        .collect();
    for difference in &json_patch::diff(before, after).0 {
        let path = difference.path().to_string();
        assert!(parents.iter().any(|parent| path.starts_with(parent)), "{}: differs at {path}", case.id);
    }
}

#[test]
fn a_rejected_text_differs_from_its_twin() {
    let corpus = corpus();
    let cases = by_id(corpus);
    for case in corpus.cases.iter().filter(|case| rules(case).next().is_some()) {
        let twin = case.twin.as_deref().and_then(|id| cases.get(id)).expect("a twin");
        let differs = case.document != twin.document || is_twin_by_method(case, twin);
        assert!(differs, "{}: the document is that of its twin", case.id);
    }
}

#[test]
fn edits_are_small() {
    let corpus = corpus();
    for case in &corpus.cases {
        if let Document::Base { edit, .. } = &case.document {
            // A task of a task graph that gets another type gets other operands with it, and a value of memory-centric IR that gets
            // another shape other indices. To replace the whole would be one operation, and hide which of its members differ.
            let many = [Profile::TASK_GRAPH, Profile::MCIR];
            let most = if case.profiles.iter().any(|profile| many.contains(profile)) { 21 } else { 4 };
            assert!(edit.0.len() <= most, "{}: {} operations are not one edit", case.id, edit.0.len());
        }
    }
}

#[test]
fn ids_are_paths_and_name_their_family() {
    for case in &corpus().cases {
        let family = &case.provenance.family;
        assert!(case.id.starts_with(&format!("{family}/")), "{} is not below its family {family}", case.id);
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-/".contains(c);
        let id = case
            .id
            .strip_prefix("spec/")
            .map_or(case.id.as_str(), |rest| rest.trim_start_matches(|c: char| c.is_ascii_uppercase()));
        assert!(id.chars().all(plain), "{}: only a-z, 0-9, `-` and `/` belong in an id", case.id);
    }
}

#[test]
fn pointers_lead_somewhere() {
    let corpus = corpus();
    for case in &corpus.cases {
        let (Some(at), Some(value)) = (&case.expect.at, document(corpus, case)) else { continue };
        assert!(value.pointer(at).is_some(), "{}: nothing at {at}", case.id);
    }
}

#[test]
fn every_rule_has_five_cases_or_eight_and_every_cited_clause_exists() {
    let corpus = corpus();
    let mut count: BTreeMap<Rule, usize> = BTreeMap::new();
    let known: BTreeSet<&str> =
        CLAUSES.iter().map(|clause| clause.id).chain(Rule::ALL.iter().map(|rule| rule.id())).collect();
    for case in &corpus.cases {
        rules(case).for_each(|rule| *count.entry(rule).or_default() += 1);
        for clause in &case.clauses {
            assert!(known.contains(clause.as_str()), "{} cites {clause}, which does not exist", case.id);
        }
    }
    let short: Vec<String> = Rule::ALL
        .iter()
        // Those of memory-centric IR are of one document, whose twins are small.
        .filter(|rule| count.get(rule).copied().unwrap_or(0) < if rule.id().starts_with('I') { 8 } else { 5 })
        .map(|rule| format!("{}: {}", rule.id(), count.get(rule).copied().unwrap_or(0)))
        .collect();
    assert!(short.is_empty(), "rules with fewer than 5 cases, or 8 of memory-centric IR: {short:?}");
}

/// `corpus check` compares the same files with what several jobs make.
#[test]
fn one_job_makes_what_the_repository_has() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let other = |(path, bytes): &(&String, &Vec<u8>)| {
        // The manifest lists what is executed too.
        *path != "manifest.json" && std::fs::read(folder.join(path)).ok().as_ref() != Some(*bytes)
    };
    let different: Vec<&String> = corpus().files.iter().filter(other).map(|(path, _)| path).collect();
    assert!(corpus().files.len() > 10_000, "only {} files were made", corpus().files.len());
    assert!(different.is_empty(), "one job makes others than the repository has: {different:?}");
}
