//! Every rejected example and case of task graphs is replayed to what its witness says.

use megakernel_ir::Rule;
use megakernel_ir::rule::Class;
use megakernel_task_graph::{read_system, read_task_graph};
use megakernel_task_graph_reference::explore::{NotReplayed, Setup, replay};
use megakernel_task_graph_reference::validate;
use megakernel_test_support::{cases, spec};

/// Every rejected example of task graphs, with its rule.
fn examples() -> Vec<(String, String)> {
    let mut all = spec::examples();
    all.retain(|shown| shown.rule.starts_with('T') && !shown.warned);
    all.into_iter().map(|shown| (shown.rule, shown.failing)).collect()
}

/// Every rejected case of the corpus about task graphs: its id and document.
fn rejected_cases() -> Vec<(String, String)> {
    cases::documents("task-graph")
        .into_iter()
        .filter(|found| found.case["expect"]["verdict"] == "reject")
        .map(|found| (found.id().to_owned(), found.text))
        .collect()
}

/// Replays what is found in a document; how many findings were shown, and the rules of those that were not.
fn replayed(name: &str, document: &str) -> (usize, Vec<Rule>) {
    let found = validate(document.as_bytes()).diagnostics;
    if found.iter().any(|d| matches!(d.rule.class(), Class::STRUCTURE | Class::TASK_GRAPH_STRUCTURE)) {
        return (0, Vec::new());
    }
    let setup = match (read_system(document.as_bytes()), read_task_graph(document.as_bytes())) {
        (Ok(system), _) => Setup::new(&system),
        (_, Ok(graph)) => Setup::bare(&graph),
        // A request to translate.
        _ => return (0, Vec::new()),
    };
    // Only TX01 leaves ids that lead nowhere.
    let Ok(setup) = setup else {
        assert!(found.iter().any(|diagnostic| diagnostic.rule == Rule::TX01), "{name}: {:?}", setup.err());
        return (0, Vec::new());
    };
    let (mut shown, mut without) = (0, Vec::new());
    for diagnostic in &found {
        match replay(&setup, diagnostic) {
            Ok(_) => shown += 1,
            Err(NotReplayed::NoRun) => {}
            Err(NotReplayed::NoFault) => without.push(diagnostic.rule),
            Err(other) => unreachable!("{name}: {other}: {diagnostic:?}"),
        }
    }
    (shown, without)
}

#[test]
fn every_rejected_example_is_replayed() {
    let mut shown = std::collections::BTreeSet::new();
    for (rule, graph) in examples() {
        let (count, without) = replayed(&rule, &graph);
        assert_eq!(without, [], "{rule}");
        if count > 0 {
            shown.insert(rule);
        }
    }
    for rule in [
        "TD01", "TD02", "TD03", "TD04", "TD05", "TR01", "TR02", "TR03", "TR04", "TR05", "TR06", "TX03",
        "TX04", "TX06",
    ] {
        assert!(shown.contains(rule), "the example of {rule} is not replayed: {shown:?}");
    }
}

#[test]
fn every_rejected_case_is_replayed() {
    let mut all = Vec::new();
    let (mut shown, mut cases_shown) = (0, 0);
    for (id, graph) in rejected_cases() {
        let (count, without) = replayed(&id, &graph);
        shown += count;
        cases_shown += usize::from(count > 0);
        let broken: Vec<Rule> =
            validate(graph.as_bytes()).diagnostics.iter().map(|diagnostic| diagnostic.rule).collect();
        // Hulls of tiles without a common layout may meet where the tiles do not. What waits for no trigger, or not for all,
        // goes on where the rules say that it must not.
        let nothing = graph.contains("\"num_triggers\":0");
        let excused = |rule: &Rule| match *rule {
            Rule::TD01 => nothing,
            Rule::TD03 | Rule::TD04 => broken.contains(&Rule::TR01),
            // What never ends does not end too early.
            Rule::TD05 => [Rule::TD01, Rule::TD02, Rule::TD03].iter().any(|rule| broken.contains(rule)),
            _ => broken.contains(&Rule::TW03),
        };
        all.extend(without.into_iter().filter(|rule| !excused(rule)).map(|rule| (id.clone(), rule)));
    }
    assert!(all.is_empty(), "no run shows {all:?}");
    assert!(cases_shown > 50, "{shown} findings of {cases_shown} cases are shown");
}
