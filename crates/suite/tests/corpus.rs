//! Every case of the corpus as a test of the reference: verdict, rules, and the place that the case declares.
//!
//! The runner judges the reference through the protocol like anyone else; this is for those who work on it, one test a
//! case: `cargo test -p megakernel-suite --test corpus race/`.

#![allow(clippy::panic, reason = "a helper of a test fails the test")]

use std::path::Path;
use std::sync::OnceLock;

use megakernel_conformance::case::{Case, Verdict};
use megakernel_conformance::judge::{Judgement, conversation};
use megakernel_conformance::store::Corpus;
use megakernel_ir::companion::{Question, Reference};
use megakernel_ir::protocol::{Answer, DocumentBytes, FromWorker, Profile, Reported, Request};
use megakernel_ir::rule::{Class, Rule};
use megakernel_ir::{Diagnostic, Layout, read, write};
use megakernel_reference::validate::{Classes, validate};
use megakernel_suite::companions::REFERENCES;
use megakernel_test_support::root;

datatest_stable::harness! {
    { test = case, root = "../../corpus/cases", pattern = r".*\.json$" },
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn corpus() -> &'static Corpus {
    static CORPUS: OnceLock<Corpus> = OnceLock::new();
    CORPUS.get_or_init(|| Corpus::load(&root().join("corpus")).unwrap_or_else(|error| panic!("{error}")))
}

fn case(path: &Path) -> Outcome {
    let case: Case = serde_json::from_slice(&std::fs::read(path)?)?;
    // What is executed is accepted by all profiles.
    for (n, launch) in corpus().launch_documents(&case)?.iter().enumerate() {
        if let Some(found) = validate(launch, Classes::ALL).diagnostics.iter().find(|found| found.is_error())
        {
            return Err(format!("{}, launch {n}: {found:?}", case.id).into());
        }
    }
    let document = corpus().document(&case)?;
    for companion in REFERENCES {
        let mut reference = (companion.reference)();
        if let Some(&profile) = case.profiles.iter().find(|profile| reference.profiles().contains(profile)) {
            return of_companion(&case, profile, reference.as_mut(), &document);
        }
    }
    for &profile in &case.profiles {
        let found = validate(&document, Classes::of_profile(profile)).diagnostics;
        check(&case, profile, &found)
            .map_err(|problem| format!("{} under {profile}: {problem}\n{found:#?}", case.id))?;
    }
    match &case.expect.document {
        Some(expected) => round_trip(&document, expected),
        None => Ok(()),
    }
}

/// What the reference of a companion answers, in one process, and where it points.
fn of_companion(case: &Case, profile: Profile, reference: &mut dyn Reference, document: &[u8]) -> Outcome {
    let mut pointers = Vec::new();
    let mut ask = |question: &Question<'_>| -> Result<FromWorker, String> {
        let Question { method, document, arguments, anew: _ } = *question;
        let document = match std::str::from_utf8(document) {
            Ok(text) => DocumentBytes::Text(text.into()),
            Err(_) => DocumentBytes::Binary(document.to_vec()),
        };
        let request = Request { method, profile, document, arguments: arguments.cloned() };
        let answer = reference.answer(&request);
        if let Answer::Accept { diagnostics, .. } | Answer::Reject { diagnostics } = &answer {
            pointers.extend(diagnostics.iter().map(|found| found.pointer.to_string()));
        }
        let reported = |diagnostics: Vec<Diagnostic>| -> Vec<Reported> {
            let one = |found: Diagnostic| Reported {
                rule: found.rule.id().to_owned(),
                severity: if found.is_error() { "error" } else { "warning" }.to_owned(),
                message: Some(found.message.to_string()),
                pointer: Some(found.pointer.to_string()),
            };
            diagnostics.into_iter().map(one).collect()
        };
        let (outcome, diagnostics, document, reason) = match answer {
            Answer::Accept { diagnostics, document } => ("accept", diagnostics, document, None),
            Answer::Reject { diagnostics } => ("reject", diagnostics, None, None),
            Answer::Unsupported { reason } => ("unsupported", Vec::new(), None, Some(reason)),
            Answer::Failed { message } => return Err(message),
        };
        Ok(FromWorker {
            kind: "response".to_owned(),
            id: None,
            outcome: Some(outcome.to_owned()),
            diagnostics: Some(reported(diagnostics)),
            document,
            reason,
            message: None,
        })
    };
    match conversation(case, &[], document, &mut ask)? {
        Judgement::Passed => {}
        Judgement::Failed(mismatch) => {
            return Err(format!("{}: {}; found {}", case.id, mismatch.expected, mismatch.actual).into());
        }
        Judgement::Skipped(reason) => return Err(format!("{}: {reason}", case.id).into()),
    }
    match &case.expect.at {
        Some(at) if !pointers.contains(at) => {
            Err(format!("{}: nothing reported at `{at}`, but at {pointers:?}", case.id).into())
        }
        _ => Ok(()),
    }
}

fn check(case: &Case, profile: Profile, found: &[Diagnostic]) -> Result<(), String> {
    let expect = &case.expect;
    let errors: Vec<&Diagnostic> = found.iter().filter(|diagnostic| diagnostic.is_error()).collect();
    if let Some(other) =
        errors.iter().find(|d| expect.verdict != Verdict::Either && !expect.rules.contains(&d.rule))
    {
        return Err(format!("{} is not declared", other.rule));
    }
    if expect.verdict == Verdict::Reject && errors.is_empty() {
        return Err("accepted".to_owned());
    }
    let is_lacking = |rule: &&Rule| expect.every_rule && errors.iter().all(|found| found.rule != **rule);
    if let Some(rule) = expect.rules.iter().find(is_lacking) {
        return Err(format!("{rule} is not named"));
    }
    if let Some(warnings) = &expect.warnings {
        let mut reported: Vec<Rule> =
            found.iter().map(|d| d.rule).filter(|rule| rule.class() == Class::WARNING).collect();
        reported.dedup();
        if reported != *warnings {
            return Err(format!("warnings {reported:?}, declared {warnings:?} ({profile})"));
        }
    }
    match &expect.at {
        Some(at) if !found.iter().any(|diagnostic| diagnostic.pointer == *at) => {
            Err(format!("nothing reported at `{at}`"))
        }
        _ => Ok(()),
    }
}

/// The reference writes every member of the declared document with its value, in either layout.
fn round_trip(document: &[u8], expected: &serde_json::Value) -> Outcome {
    for layout in [Layout::Compact, Layout::Indent(2)] {
        let program = read(document).map_err(|found| format!("not read: {found:#?}"))?;
        let written = write(&program, layout);
        let again = read(written.as_bytes()).map_err(|found| format!("not read again: {found:#?}"))?;
        if write(&again, layout) != written {
            return Err("writing again gives other bytes".into());
        }
        holds(&serde_json::from_str(&written)?, expected, "")?;
    }
    Ok(())
}

/// Whether `found` has all that `expected` has; it may have members that the specification does not know.
fn holds(found: &serde_json::Value, expected: &serde_json::Value, at: &str) -> Result<(), String> {
    use serde_json::Value::{Array, Object};
    match (found, expected) {
        (Object(found), Object(expected)) => expected.iter().try_for_each(|(name, value)| {
            let at = format!("{at}/{name}");
            found.get(name).ok_or_else(|| format!("no {at}")).and_then(|found| holds(found, value, &at))
        }),
        (Array(found), Array(expected)) if found.len() == expected.len() => {
            let pairs = found.iter().zip(expected).enumerate();
            pairs
                .into_iter()
                .try_for_each(|(index, (found, value))| holds(found, value, &format!("{at}/{index}")))
        }
        _ if found == expected => Ok(()),
        _ => Err(format!("{at} is {found}, declared {expected}")),
    }
}
