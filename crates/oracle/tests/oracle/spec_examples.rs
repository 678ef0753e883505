//! The examples of the rule chapters: under all classes together, each breaks the rule of its section and no other, its twin
//! breaks none and warns of nothing, and what the reference says about it has the form that `schemas/` gives.

#![allow(clippy::panic)]

use std::collections::BTreeSet;

use megakernel_ir::protocol::{Answer, DocumentBytes, Method, Profile, Request};
use megakernel_ir::rule::Class;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_reference::validate::{Classes, validate};
use megakernel_task_graph_reference as task_graph;
use megakernel_test_support::schemas;
use megakernel_test_support::spec::{self, Shown};

/// Every rule with its example.
fn examples() -> impl Iterator<Item = (Rule, Shown)> {
    spec::examples().into_iter().map(|shown| (Rule::from_id(&shown.rule).expect("a generated rule"), shown))
}

/// What the reference finds in an example of the rule: a program, a task graph, or a kernel graph to translate.
fn judge(rule: Rule, document: &str) -> Vec<Diagnostic> {
    match rule.class() {
        Class::KERNEL_GRAPH => {
            let request = Request {
                method: Method::TRANSLATE,
                profile: Profile::TASK_GRAPH,
                document: DocumentBytes::Text(document.into()),
                arguments: None,
            };
            match task_graph::answer(&request) {
                Answer::Accept { diagnostics, .. } | Answer::Reject { diagnostics } => diagnostics,
                other => panic!("{rule}: {other:?}"),
            }
        }
        _ if Profile::TASK_GRAPH.judges(rule.class()) && !Profile::FORMAT.judges(rule.class()) => {
            task_graph::validate(document.as_bytes()).diagnostics
        }
        _ if Profile::COLLECTIVES.judges(rule.class()) && !Profile::FORMAT.judges(rule.class()) => {
            let request = Request {
                method: Method::VALIDATE,
                profile: Profile::COLLECTIVES,
                document: DocumentBytes::Text(document.into()),
                arguments: None,
            };
            match megakernel_collectives_reference::serve::serve(&request) {
                Answer::Accept { diagnostics, .. } | Answer::Reject { diagnostics } => diagnostics,
                other => panic!("{rule}: {other:?}"),
            }
        }
        _ if rule.class() == Class::SCHEDULE_TRACE => {
            megakernel_schedule_reference::trace(document.as_bytes()).diagnostics
        }
        _ if Profile::SCHEDULE.judges(rule.class()) && !Profile::FORMAT.judges(rule.class()) => {
            megakernel_schedule_reference::validate(document.as_bytes()).diagnostics
        }
        _ if Profile::MCIR.judges(rule.class()) && !Profile::FORMAT.judges(rule.class()) => {
            megakernel_mcir_reference::validate(document.as_bytes()).diagnostics
        }
        _ if Profile::SELECTION.judges(rule.class()) && !Profile::FORMAT.judges(rule.class()) => {
            let select = rule.class() == Class::SELECTION_NO_PLAN;
            let request = Request {
                method: if select { Method::SELECT } else { Method::VALIDATE },
                profile: Profile::SELECTION,
                document: DocumentBytes::Text(document.into()),
                arguments: None,
            };
            match megakernel_selection_reference::serve::serve(&request) {
                Answer::Accept { diagnostics, .. } | Answer::Reject { diagnostics } => diagnostics,
                other => panic!("{rule}: {other:?}"),
            }
        }
        _ => validate(document.as_bytes(), Classes::ALL).diagnostics,
    }
}

#[test]
fn each_example_breaks_its_rule_and_no_other() {
    for (rule, Shown { failing, accepted, .. }) in examples() {
        // A tile that is out of place may make the layout of its tensor irregular as well (TW03).
        let beside = |found: Rule| found == Rule::TW03 && rule.class() == Class::TASK_GRAPH_BOUNDS;
        let rules: BTreeSet<Rule> = judge(rule, &failing)
            .iter()
            .map(|diagnostic| diagnostic.rule)
            .filter(|&found| !beside(found))
            .collect();
        assert_eq!(rules, BTreeSet::from([rule]), "the failing document of {rule}");
        let found = judge(rule, &accepted);
        assert!(found.is_empty(), "the twin of {rule}: {found:?}");
    }
}

#[test]
fn diagnostics_conform_to_their_schema_and_carry_witnesses() {
    let schema = schemas::validator("diagnostics");
    let witnessed = |rule: Rule| {
        let id = rule.id();
        matches!(id.as_bytes().first(), Some(b'D' | b'R')) && !["D07", "R07"].contains(&id)
            || ["P01", "M05"].contains(&id)
    };
    let mut kinds = BTreeSet::new();
    for (rule, Shown { failing, .. }) in examples() {
        let diagnostics = serde_json::to_value(judge(rule, &failing)).expect("serialises");
        let errors = schemas::errors(&schema, &diagnostics);
        assert!(errors.is_empty(), "{rule}: {errors:#?}");
        let witness = &diagnostics[0]["witness"];
        assert!(witness.is_object() || !witnessed(rule), "{rule} carries no witness");
        kinds.extend(witness["kind"].as_str().map(str::to_owned));
    }
    let expected = ["choice", "clobber", "cycle", "overlap", "schedule", "unordered", "unwritten"];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected, "kinds of witnesses that the examples show");
}
