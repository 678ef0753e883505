//! The runner's judge as a second opinion on the corpus.

#![allow(clippy::panic, reason = "a helper of a test fails the test")]

use std::collections::{BTreeMap, BTreeSet};

use megakernel_collectives_cases::families::{FAMILIES, files};
use megakernel_collectives_checker::judge;
use megakernel_conformance::case::{Case, Document, Verdict};
use megakernel_corpus::families::{Cases, Library, Sink};
use megakernel_ir::Rule;
use megakernel_ir::protocol::Method;
use serde_json::Value;

fn cases() -> Vec<Case> {
    let nothing = Library::default();
    let of_family = |(id, cases): &(&'static str, Cases)| {
        let mut sink = Sink::new(id, 0);
        cases(&nothing, &mut sink).unwrap_or_else(|error| panic!("{id}: {error}"));
        sink.into_cases()
    };
    FAMILIES.iter().flat_map(of_family).collect()
}

/// The rules that the judge knows: those on logs, and on all of them together.
fn is_judged(rule: Rule) -> bool {
    let about_document = [Rule::CS01, Rule::CS02, Rule::CS03, Rule::CS04, Rule::CS15];
    let classes = ["CS", "CD", "CT", "CB"];
    classes.iter().any(|class| rule.id().starts_with(class)) && !about_document.contains(&rule)
}

#[test]
fn the_judge_agrees_with_every_case_about_logs() {
    let files: BTreeMap<String, Value> = files()
        .expect("the files")
        .into_iter()
        .map(|(path, text)| (path, serde_json::from_slice(&text).expect("JSON")))
        .collect();
    let (mut played, mut rules, mut wrong) = (0, BTreeSet::new(), Vec::new());
    for case in cases() {
        let simulated = case.method == Method::SIMULATE && case.expect.verdict == Verdict::Accept;
        if case.method != Method::VALIDATE && !simulated {
            continue;
        }
        let document = match &case.document {
            Document::Base { base, edit } => {
                let mut value = files.get(base).unwrap_or_else(|| panic!("no {base}")).clone();
                json_patch::patch(&mut value, edit).unwrap_or_else(|error| panic!("{}: {error}", case.id));
                value
            }
            Document::Text { text } => serde_json::from_str(text).unwrap_or(Value::Null),
            Document::Base64 { .. } => Value::Null,
        };
        let declared: BTreeSet<Rule> = case.expect.rules.iter().copied().collect();
        let about_logs =
            declared.iter().all(|&rule| is_judged(rule)) && case.expect.verdict != Verdict::Either;
        let Ok(algorithm) = megakernel_collectives::read_algorithm(&document) else { continue };
        // A loop with millions of turns takes a straightforward judge too long.
        if !about_logs || document.get("module").is_some() || declared.contains(&Rule::CS16) {
            continue;
        }
        played += 1;
        let found: BTreeSet<Rule> = judge(&algorithm).into_iter().map(|broken| broken.rule).collect();
        if found.is_empty() != declared.is_empty() || !found.is_subset(&declared) {
            wrong.push(format!("{}: {found:?}, declared {declared:?}", case.id));
        }
        rules.extend(found);
    }
    assert!(wrong.is_empty(), "{} of {played}:\n{}", wrong.len(), wrong.join("\n"));
    let known: BTreeSet<Rule> =
        Rule::ALL.iter().copied().filter(|&rule| is_judged(rule) && rule != Rule::CS16).collect();
    assert_eq!(rules, known, "rules that cases show");
    assert!(played > 500, "{played} cases");
}
