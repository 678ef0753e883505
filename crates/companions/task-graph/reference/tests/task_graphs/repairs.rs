//! What is suggested as a repair does repair: applied to graphs, the finding is gone.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::prng::SplitMix64;
use megakernel_ir::{Diagnostic, Layout, Rule, write_record};
use megakernel_task_graph::{
    EVENT_INVALID, EventId, Task, TaskGraph, read_system, read_task_graph, read_translation,
};
use megakernel_task_graph_reference::translate::translate;
use megakernel_task_graph_reference::validate::{Graphs, Repair, repairs, validate_graphs};
use megakernel_test_support::cases::documents;
use serde_json::{Value, json};

use crate::kernel_graphs::random::{Random, kernel_graph};
use crate::patient::{Patient, renumber};
use crate::support::system;

fn judged(ranks: &[TaskGraph<'_>]) -> Vec<Diagnostic> {
    validate_graphs(Graphs::System(ranks, None)).diagnostics
}

/// How many findings of each rule there are.
fn counts(found: &[Diagnostic]) -> BTreeMap<Rule, usize> {
    let mut counts = BTreeMap::new();
    found
        .iter()
        .filter(|found| found.is_error())
        .for_each(|found| *counts.entry(found.rule).or_default() += 1);
    counts
}

/// Repairs the first finding that can be, again and again; what is left, and the repairs.
fn healed(text: &str) -> (Vec<Diagnostic>, Vec<Repair>) {
    let read = read_system(text.as_bytes()).expect("a system");
    let mut patient = Patient { ranks: read.ranks, is_bare: false };
    let mut done = Vec::new();
    loop {
        let found = judged(&patient.ranks);
        let all: Vec<&Diagnostic> = found.iter().filter(|found| found.is_error()).collect();
        let offered = repairs(&Graphs::System(&patient.ranks, None), &all);
        assert_eq!(offered.len(), all.len());
        let Some((repair, words)) =
            offered.into_iter().flatten().find(|(repair, _)| !matches!(repair, Repair::Exchange { .. }))
        else {
            return (found, done);
        };
        assert!(!words.is_empty());
        patient.apply(repair);
        done.push(repair);
        let after = judged(&patient.ranks);
        let structure: Vec<&Diagnostic> = after
            .iter()
            .filter(|found| found.is_error() && found.rule.id().starts_with("TS") || found.rule == Rule::TD03)
            .collect();
        assert!(structure.is_empty(), "{repair:?} breaks {structure:?}");
        assert_ne!(found, after, "{repair:?} changes nothing");
        assert!(done.len() < 200, "{done:?}");
    }
}

#[test]
fn a_put_to_the_own_slot_is_what_reductions_lack() {
    let mut both = system();
    for (rank, graph) in both["ranks"].as_array_mut().expect("ranks").iter_mut().enumerate() {
        let tasks = graph["all_tasks"].as_array_mut().expect("tasks");
        let own = (0..tasks.len()).filter(|&task| {
            let id = tasks[task]["trigger_event"].as_i64().and_then(EventId::from_bits);
            id.is_some_and(|id| id.nvshmem && usize::from(id.rank) == rank)
        });
        for task in own.collect::<Vec<_>>().into_iter().rev() {
            tasks.remove(task);
        }
        *graph = redone(graph, rank);
    }
    let text = both.to_string();
    let read = read_system(text.as_bytes()).expect("a system");
    let before = judged(&read.ranks);
    assert!(before.iter().any(|found| found.rule == Rule::TR02), "{before:?}");
    let (left, done) = healed(&text);
    assert_eq!(left, [], "{done:?}");
    assert!(done.len() == 4 && done.iter().all(|repair| matches!(repair, Repair::Put { .. })), "{done:?}");
}

/// A graph with thresholds and ranges that fit its tasks.
fn redone(graph: &Value, rank: usize) -> Value {
    let text = graph.to_string();
    let mut read = read_task_graph(text.as_bytes()).expect("a graph");
    renumber(rank, &mut read);
    for event in &mut read.all_events[2..] {
        event.num_triggers = 1;
    }
    serde_json::from_str(&write_record(&read, Layout::Compact)).expect("JSON")
}

/// Safe graphs of up to so many tasks, translated from kernel graphs drawn at random.
fn safe_graphs(most: usize) -> impl Iterator<Item = Value> {
    (0..).filter_map(move |seed| {
        let kernel_graph = kernel_graph(&mut Random(SplitMix64::new(seed)), 5, 1);
        let request = json!({"kernel_graph": kernel_graph, "mode": "sound"}).to_string();
        let graph = translate(&read_translation(request.as_bytes()).expect("a request")).ok()?;
        let graph: Value = serde_json::from_str(&write_record(&graph, Layout::Compact)).expect("JSON");
        (graph["all_tasks"].as_array().expect("tasks").len() <= most).then_some(graph)
    })
}

/// A graph in which one task triggers nothing, or does not wait: the first or last of those that wait for its event, so that their ids
/// stay as they are.
fn left_out(graph: &Value, task: usize, member: &str) -> Option<Value> {
    let mut broken = graph.clone();
    let id = EventId::from_bits(broken["all_tasks"][task][member].as_i64()?)?;
    broken["all_tasks"][task][member] = EVENT_INVALID.into();
    if member == "trigger_event" {
        return Some(broken);
    }
    let event = &mut broken["all_events"][id.position as usize];
    let (first, last) = (event["first_task_id"].as_u64()? as usize, event["last_task_id"].as_u64()? as usize);
    match (first == task, last == task + 1) {
        (true, true) => (event["first_task_id"], event["last_task_id"]) = (0.into(), 0.into()),
        (true, false) => event["first_task_id"] = (task + 1).into(),
        (false, true) => event["last_task_id"] = task.into(),
        (false, false) => return None,
    }
    let tasks = broken["all_tasks"].as_array()?;
    let free = |&task: &usize| tasks[task]["dependent_event"] == EVENT_INVALID;
    broken["first_tasks"] = (2..tasks.len()).filter(free).collect();
    Some(broken)
}

/// Every trigger and every wait is left out in turn, and put back, or replaced by one that orders the same tasks.
#[test]
fn what_is_left_out_is_put_back() {
    let (mut repaired, mut kinds) = (0, BTreeSet::new());
    for graph in safe_graphs(24).take(12) {
        for task in 2..graph["all_tasks"].as_array().expect("tasks").len() {
            for member in ["trigger_event", "dependent_event"] {
                let Some(broken) = left_out(&graph, task, member) else { continue };
                let (left, done) = healed(&json!({"ranks": [broken]}).to_string());
                assert_eq!(counts(&left), BTreeMap::new(), "{member} of {task}: {done:?} leave {left:?}");
                repaired += usize::from(!done.is_empty());
                kinds.extend(
                    done.iter().map(|repair| format!("{repair:?}").chars().take(4).collect::<String>()),
                );
            }
        }
    }
    assert!(repaired > 100, "{repaired}");
    assert!(kinds.len() > 2, "{kinds:?}");
}

/// Rules of which some finding has a repair.
const MENDED: [Rule; 14] = [
    Rule::TD01,
    Rule::TD02,
    Rule::TD04,
    Rule::TD05,
    Rule::TR01,
    Rule::TR02,
    Rule::TR03,
    Rule::TR04,
    Rule::TR05,
    Rule::TR06,
    Rule::TR07,
    Rule::TX02,
    Rule::TX05,
    Rule::TX06,
];

/// The graphs of a document, if its tasks and events have the numbers of rank 0 on.
fn patient(text: &str) -> Option<Patient<'_>> {
    if let Ok(system) = read_system(text.as_bytes()) {
        return Some(Patient { ranks: system.ranks, is_bare: false });
    }
    let graph = read_task_graph(text.as_bytes()).ok()?;
    let is_first = graph.all_tasks.get(1).is_some_and(|task| task.trigger_event == 1);
    is_first.then(|| Patient { ranks: vec![graph], is_bare: true })
}

/// How many repairs a finding may take.
fn most_steps(rule: Rule) -> usize {
    if matches!(rule, Rule::TR02 | Rule::TR03 | Rule::TR04 | Rule::TR06) { 8 } else { 1 }
}

/// Of each graph of the corpus that breaks a rule, what is offered is done by itself: the rule is broken at fewer places, and none about
/// structure or cycles is that was not before.
#[test]
fn what_is_offered_for_the_graphs_of_the_corpus_repairs_them() {
    let folders = [
        "collectives",
        "counts",
        "dead-writes",
        "lost",
        "near",
        "order",
        "puts",
        "ranks",
        "sums",
        "unordered",
    ];
    let (mut repaired, mut wrong) = (BTreeMap::<(Rule, &str), usize>::new(), Vec::new());
    for document in folders.into_iter().flat_map(|name| documents(&format!("task-graph/{name}"))) {
        let Some(before) = patient(&document.text) else { continue };
        let found = validate_graphs(before.graphs()).diagnostics;
        let all: Vec<&Diagnostic> = found.iter().filter(|found| found.is_error()).collect();
        let offered = repairs(&before.graphs(), &all);
        let counted = counts(&found);
        for (finding, repair) in all.iter().zip(offered) {
            let Some((repair, words)) = repair else { continue };
            let mut after = patient(&document.text).expect("a graph");
            let said = format!("{}: {} at {}: {words}", document.id(), finding.rule, finding.pointer);
            if matches!(repair, Repair::Exchange { .. }) {
                continue;
            }
            // Of several tasks that race with each other, a repair orders two.
            let (mut step, mut steps) = (Some(repair), 0);
            let of = |counts: &BTreeMap<Rule, usize>| counts.get(&finding.rule).copied().unwrap_or(0);
            let left = loop {
                if !step.is_some_and(|step| after.apply(step)) {
                    break None;
                }
                let found = validate_graphs(after.graphs()).diagnostics;
                let left = counts(&found);
                steps += 1;
                if of(&left) < of(&counted) || steps == most_steps(finding.rule) {
                    break Some(left);
                }
                let same: Vec<&Diagnostic> = found.iter().filter(|one| one.rule == finding.rule).collect();
                step = repairs(&after.graphs(), &same).into_iter().flatten().next().map(|(step, _)| step);
            };
            let is_about_form = |rule: Rule| rule.id().starts_with("TS") || rule == Rule::TD03;
            let is_better = |left: &BTreeMap<Rule, usize>| {
                of(left) < of(&counted)
                    && !left.keys().any(|&rule| is_about_form(rule) && !counted.contains_key(&rule))
            };
            if !left.as_ref().is_some_and(is_better) {
                wrong.push(format!("{said}: {left:?}"));
                continue;
            }
            let kind = format!("{repair:?}");
            let kind = KINDS.into_iter().find(|name| kind.starts_with(name)).expect("a kind");
            *repaired.entry((finding.rule, kind)).or_default() += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {repaired:?}\n{}", wrong.len(), wrong.join("\n"));
    for rule in MENDED {
        let count: usize = repaired.iter().filter(|((of, _), _)| *of == rule).map(|(_, count)| count).sum();
        assert!(count > 0, "no finding of {rule} is repaired: {repaired:?}");
    }
    for kind in KINDS {
        assert!(repaired.keys().any(|(_, of)| *of == kind), "{kind} repairs nothing: {repaired:?}");
    }
}

const KINDS: [&str; 9] = ["Wait", "Trigger", "New", "Join", "Count", "Renumber", "Apart", "Start", "Team"];

/// Every trigger leads to every other event of the rank in turn, cycles included, and is led back.
#[test]
fn what_leads_astray_is_led_back() {
    let (mut cycles, mut others) = ([0; 2], [0; 2]);
    for graph in safe_graphs(40).take(12) {
        let events = graph["all_events"].as_array().expect("events").len() as i64;
        for task in 2..graph["all_tasks"].as_array().expect("tasks").len() {
            let right = graph["all_tasks"][task]["trigger_event"].as_i64().expect("an id");
            for wrong in (2..events).filter(|&wrong| wrong != right) {
                let mut broken = graph.clone();
                broken["all_tasks"][task]["trigger_event"] = wrong.into();
                let text = broken.to_string();
                let patient = patient(&text).expect("a graph");
                let found = validate_graphs(patient.graphs()).diagnostics;
                let is_cycle = found.iter().any(|found| found.rule == Rule::TD03);
                let (left, done) = healed(&json!({"ranks": [broken]}).to_string());
                let tally = if is_cycle { &mut cycles } else { &mut others };
                tally[0] += 1;
                assert!(counts(&left).is_empty(), "{task} triggers {wrong}: {done:?} leave {left:?}");
                tally[1] += usize::from(done.len() == 1);
            }
        }
    }
    // Where who waits reads what both of two tasks write, the wrong one may be taken; then it takes two repairs.
    assert!(cycles[0] > 300 && cycles[1] == cycles[0], "{cycles:?}");
    assert!(others[0] > 600 && 20 * others[1] >= 19 * others[0], "{others:?}");
}

/// Each collective of a rank is left out in turn, and put back.
#[test]
fn a_collective_that_a_rank_lacks_is_put_back() {
    let (mut repaired, mut ordered) = (0, 0);
    for document in documents("task-graph/collectives") {
        if document.case["expect"]["verdict"] != "accept" {
            continue;
        }
        let Some(whole) = patient(&document.text).filter(|whole| !whole.is_bare) else { continue };
        let is_collective = |task: &Task<'_>| task.task_type == 302;
        let rank = whole.ranks.len() - 1;
        let all = &whole.ranks[rank].all_tasks;
        for number in (2..all.len()).filter(|&number| is_collective(&all[number])) {
            let mut broken = patient(&document.text).expect("a system");
            broken.ranks[rank].all_tasks.remove(number);
            assert!(renumber(rank, &mut broken.ranks[rank]));
            let found = validate_graphs(broken.graphs()).diagnostics;
            let all: Vec<&Diagnostic> = found.iter().filter(|found| found.rule == Rule::TX05).collect();
            assert!(!all.is_empty(), "{} without task {number}: {found:?}", document.id());
            let offered = repairs(&broken.graphs(), &all).into_iter().flatten().next();
            let Some((repair @ Repair::Mate { .. }, words)) = offered else { continue };
            assert!(broken.apply(repair), "{words}");
            let left = counts(&validate_graphs(broken.graphs()).diagnostics);
            // Dealing out ids does not look at what order other ranks have.
            let is_good = left.keys().all(|&rule| rule == Rule::TD04);
            assert!(is_good, "{} without task {number}: {words}: {left:?}", document.id());
            ordered += usize::from(left.is_empty());
            repaired += 1;
        }
    }
    assert!(repaired > 20 && 2 * ordered > repaired, "{ordered} of {repaired}");
}
