//! The judge as a second opinion on the corpus, and the judge of translations against broken ones.

#![allow(clippy::panic, reason = "a helper of a test fails the test")]

use std::collections::BTreeSet;
use std::sync::LazyLock;

use megakernel_conformance::case::{Case, Document, Verdict};
use megakernel_corpus::families::{Cases, Library, Sink};
use megakernel_ir::Rule;
use megakernel_ir::protocol::Method;
use megakernel_ir::rule::Severity;
use megakernel_task_graph_cases::{FAMILIES, GraphLibrary, barrier, exact, library};
use megakernel_task_graph_checker::{Findings, judge, sound};
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

fn document(case: &Case) -> Option<Vec<u8>> {
    match &case.document {
        Document::Base { base, edit } => {
            static LIBRARY: LazyLock<GraphLibrary> = LazyLock::new(|| library().expect("the library"));
            let mut value: Value =
                LIBRARY.iter().find(|b| b.path() == *base).expect("a base").document.value.clone();
            json_patch::patch(&mut value, edit).unwrap_or_else(|error| panic!("{}: {error}", case.id));
            Some(value.to_string().into_bytes())
        }
        Document::Text { text } => Some(text.clone().into_bytes()),
        Document::Base64 { .. } => None,
    }
}

#[test]
fn the_judge_agrees_with_every_case_and_points_where_it_says() {
    let mut wrong = Vec::new();
    for case in cases().iter().filter(|case| case.method == Method::VALIDATE) {
        let Some(document) = document(case) else { continue };
        let found: Findings = match judge(&document) {
            Ok(found) => found,
            Err(refused) => refused.into_iter().map(|d| (d.rule, d.pointer.to_string())).collect(),
        };
        if case.expect.verdict == Verdict::Either {
            continue;
        }
        let (errors, warnings): (Vec<_>, Vec<_>) =
            found.iter().partition(|(rule, _)| rule.severity() == Severity::Error);
        let errors: BTreeSet<Rule> = errors.into_iter().map(|(rule, _)| *rule).collect();
        let warnings: BTreeSet<Rule> = warnings.into_iter().map(|(rule, _)| *rule).collect();
        let declared: BTreeSet<Rule> = case.expect.rules.iter().copied().collect();
        let verdict =
            errors.is_empty() == (case.expect.verdict == Verdict::Accept) && errors.is_subset(&declared);
        let warned = case
            .expect
            .warnings
            .as_ref()
            .is_none_or(|w| w.iter().copied().collect::<BTreeSet<_>>() == warnings);
        let placed = case.expect.at.as_ref().is_none_or(|at| found.iter().any(|(_, place)| place == at));
        if !verdict || !warned || !placed {
            wrong.push(format!(
                "{} declares {:?} at {:?}: {found:?}",
                case.id, case.expect.rules, case.expect.at
            ));
        }
        // An alternative that nobody needs is none.
        if !declared.is_subset(&errors) && declared.len() > 1 {
            wrong
                .push(format!("{} declares {declared:?}, of which some are not broken: {errors:?}", case.id));
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// The graphs that the barriers give for an accepted request in the sound mode.
fn sound_bases() -> Vec<(String, Vec<u8>, Vec<Value>)> {
    let mut out = Vec::new();
    for base in library().expect("the library").iter().filter(|base| base.name.starts_with("sound/")) {
        let request = base.document.value.to_string().into_bytes();
        let read = megakernel_task_graph::read_translation(&request).expect("a request");
        let graphs = (0..read.ranks)
            .map(|rank| barrier::barrier(&read.kernel_graph, read.ranks, rank).expect("a graph"))
            .collect();
        out.push((base.name.clone(), request.clone(), graphs));
    }
    out
}

fn judged(request: &[u8], graphs: &[Value]) -> std::result::Result<(), String> {
    let texts: Vec<String> = graphs.iter().map(Value::to_string).collect();
    sound(request, &texts)
}

#[test]
fn barriers_are_sound() {
    let wrong: Vec<String> = sound_bases()
        .iter()
        .filter_map(|(name, request, graphs)| {
            judged(request, graphs).err().map(|why| format!("{name}: {why}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn broken_translations_are_caught() {
    let bases = sound_bases();
    let of = |name: &str| {
        let found = bases.iter().find(|(other, _, _)| other == name).expect("a base");
        (found.1.clone(), found.2.clone())
    };
    let refused = |name: &str, edit: &dyn Fn(&mut Vec<Value>)| {
        let (request, mut graphs) = of(name);
        edit(&mut graphs);
        judged(&request, &graphs).expect_err("not sound")
    };
    let why = refused("sound/chain", &|graphs| graphs[0]["all_events"][2]["num_triggers"] = 5.into());
    assert!(why.starts_with("TR01"), "{why}");
    let why = refused("sound/chain", &|graphs| graphs[0]["all_tasks"][3]["inputs"][0]["offset"] = 0.into());
    assert!(why.contains("no work"), "{why}");
    let why = refused("sound/chain", &|graphs| graphs[0]["all_tasks"][3]["variant_id"] = 1.into());
    assert!(why.contains("no work"), "{why}");
    let why = refused("sound/chain", &|graphs| {
        // The last task is another one of the same block.
        let task = graphs[0]["all_tasks"][10].clone();
        graphs[0]["all_tasks"][11] = task;
    });
    assert!(why.contains("no work"), "{why}");
    let why = refused("sound/all-reduce-2", &|graphs| graphs.swap(0, 1));
    assert!(why.contains("no work"), "{why}");
    // Exchanged operators: nothing races, and yet the result is another one.
    let (request, _) = of("sound/dead-write");
    let mut other: Value = serde_json::from_slice(&request).expect("JSON");
    other["kernel_graph"]["operators"].as_array_mut().expect("operators").swap(0, 2);
    let other = other.to_string().into_bytes();
    let read = megakernel_task_graph::read_translation(&other).expect("a request");
    let graph = barrier::barrier(&read.kernel_graph, 1, 0).expect("a graph");
    assert!(judged(&request, &[graph]).is_err(), "the operators are in another order");
    // The exact translation makes no edge from the first operator to the third.
    let (request, _) = of("sound/missing-second-edge");
    let read = megakernel_task_graph::read_translation(&request).expect("a request");
    let graph = exact::exact(&read.kernel_graph, 1, 0).expect("a graph");
    let why = judged(&request, &[graph]).expect_err("a missing edge");
    assert!(why.starts_with("TR02"), "{why}");
    let (request, _) = of("sound/missing-anti-dependence");
    let read = megakernel_task_graph::read_translation(&request).expect("a request");
    assert!(exact::exact(&read.kernel_graph, 1, 0).is_err(), "neighbours that share nothing");
}
