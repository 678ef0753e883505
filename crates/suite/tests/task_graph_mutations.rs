//! Accepted task graphs with something changed, judged by the reference and by the runner's straightforward judge: both find the
//! same rules broken at the same places.

#![allow(clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::Rule;
use megakernel_ir::prng::SplitMix64;
use megakernel_task_graph::{EVENT_INVALID as NO_ID, NVSHMEM_TAG as TAG, TASK_TYPES};
use megakernel_task_graph_cases::{library, lines};
use megakernel_task_graph_checker::judge;
use megakernel_task_graph_reference::validate;
use serde_json::{Value, json};

/// Changed graphs that keep the structure rules.
const WANTED: usize = 720;

struct Random(SplitMix64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end.max(1) as u64) as usize
    }
}

fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or(NO_ID)
}

/// One change to one graph: an event that is dropped, doubled, redirected or counted otherwise, tiles that change places, another
/// part, another type.
fn change(graph: &mut Value, random: &mut Random) -> &'static str {
    let (tasks, events) = (len(graph, "all_tasks"), len(graph, "all_events"));
    let task = |random: &mut Random| 2 + random.below(tasks - 2);
    let (one, other) = (task(random), task(random));
    let own = int(&graph["all_tasks"][1]["trigger_event"]) & !0xffff_ffff;
    let event = 2 + random.below(events - 2);
    let member = |random: &mut Random| ["inputs", "outputs"][random.below(2)];
    match random.below(9) {
        0 => {
            graph["all_tasks"][one]["dependent_event"] = json!(NO_ID);
            "an event is not awaited"
        }
        1 => {
            let id = int(&graph["all_tasks"][one]["trigger_event"]);
            if id & TAG != TAG {
                graph["all_tasks"][one]["trigger_event"] = json!(own | event as i64);
            }
            "a trigger goes elsewhere"
        }
        2 => {
            let count = int(&graph["all_events"][event]["num_triggers"]);
            graph["all_events"][event]["num_triggers"] = json!(count + [-1, 1, 2][random.below(3)]);
            "a count is another"
        }
        3 | 4 => {
            let (a, b) = (member(random), member(random));
            let at = |graph: &Value, task: usize, list: &str, n: usize| {
                (n < graph["all_tasks"][task][list].as_array().map_or(0, Vec::len)).then_some(n)
            };
            let n = random.below(3);
            if let (Some(i), Some(j)) = (at(graph, one, a, n), at(graph, other, b, 0)) {
                let tile = graph["all_tasks"][one][a][i].clone();
                graph["all_tasks"][one][a][i] = graph["all_tasks"][other][b][j].clone();
                graph["all_tasks"][other][b][j] = tile;
            }
            "two tiles change places"
        }
        5 => {
            // A second event for a part of the tasks that waited for one.
            let id = own | event as i64;
            let copy = graph["all_events"][event].clone();
            if copy["event_type"] == 900 {
                push(graph, "all_events", copy);
                let new = own | events as i64;
                for index in one.max(other)..tasks {
                    if int(&graph["all_tasks"][index]["dependent_event"]) & !TAG == id {
                        let tag = int(&graph["all_tasks"][index]["dependent_event"]) & TAG;
                        graph["all_tasks"][index]["dependent_event"] = json!(tag | new);
                    }
                }
                let id = int(&graph["all_tasks"][one]["trigger_event"]);
                if id & TAG != TAG {
                    graph["all_tasks"][one]["trigger_event"] = json!(new);
                    graph["all_events"][events]["num_triggers"] = json!(1);
                }
            }
            "an event is doubled"
        }
        6 => {
            let id = int(&graph["all_tasks"][other]["dependent_event"]);
            graph["all_tasks"][one]["dependent_event"] = json!(id);
            "a task waits for another event"
        }
        7 => {
            let part = random.below(3) as i64;
            let record = &mut graph["all_tasks"][one];
            if record.get("task_offset").is_some() {
                for (name, value) in
                    [("request_id", part), ("kv_idx", 0), ("expert_offset", part), ("task_offset", part)]
                {
                    record[name] = json!(value);
                }
            }
            "a task has another part"
        }
        _ => {
            let known = TASK_TYPES[random.below(TASK_TYPES.len())].code;
            let kind = int(&graph["all_tasks"][one]["task_type"]);
            // What puts has ids of its own.
            if ![0, 10, 199, 301].contains(&known) && ![199, 301].contains(&kind) {
                graph["all_tasks"][one]["task_type"] = json!(known);
            }
            "a task has another type"
        }
    }
}

fn len(graph: &Value, list: &str) -> usize {
    graph[list].as_array().map_or(0, Vec::len)
}

fn push(graph: &mut Value, list: &str, value: Value) {
    if let Some(list) = graph[list].as_array_mut() {
        list.push(value);
    }
}

/// Ranges and first tasks as the tasks have them.
fn settle(graph: &mut Value) {
    let dependents: Vec<i64> = graph["all_tasks"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|task| int(&task["dependent_event"]))
        .collect();
    for event in 2..len(graph, "all_events") {
        if graph["all_events"][event]["event_type"] == 900 {
            let waits = |id: &i64| *id != NO_ID && (id & 0xffff_ffff) as usize == event;
            let first = dependents.iter().position(waits);
            let last = dependents.iter().rposition(waits);
            let range = first.zip(last).map_or((0, 0), |(first, last)| (first, last + 1));
            graph["all_events"][event]["first_task_id"] = json!(range.0);
            graph["all_events"][event]["last_task_id"] = json!(range.1);
        }
    }
    let free: Vec<usize> =
        (2..dependents.len()).filter(|&task| dependents.get(task) == Some(&NO_ID)).collect();
    graph["first_tasks"] = json!(free);
}

/// What the reference finds.
fn found(text: &str) -> BTreeSet<(Rule, String)> {
    let found = validate(text.as_bytes()).diagnostics;
    found.into_iter().map(|found| (found.rule, found.pointer.to_string())).collect()
}

#[test]
fn changed_graphs_are_judged_alike() {
    let library = library().unwrap_or_else(|cause| panic!("{cause}"));
    let bases: Vec<_> = library
        .iter()
        .filter(|base| base.document.value.get("operators").is_none())
        .filter(|base| {
            base.document
                .value
                .get("all_tasks")
                .or(base.document.value.get("ranks"))
                .is_some_and(Value::is_array)
        })
        .collect();
    let mut random = Random(SplitMix64::new(14));
    let (mut judged, mut accepted) = (0, 0);
    let mut rules: BTreeMap<Rule, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for round in 0.. {
        if judged >= WANTED {
            break;
        }
        let base = bases[round % bases.len()];
        let mut document = base.document.value.clone();
        let mut what = Vec::new();
        for _ in 0..1 + random.below(2) {
            let ranks = document["ranks"].as_array().map_or(1, Vec::len);
            let rank = random.below(ranks);
            let graph =
                if document.get("ranks").is_some() { &mut document["ranks"][rank] } else { &mut document };
            what.push(change(graph, &mut random));
            settle(graph);
        }
        let text = document.to_string();
        let ours = found(&text);
        if ours.iter().any(|(rule, _)| rule.id().starts_with("TS") || rule.id().starts_with('S')) {
            continue;
        }
        judged += 1;
        let theirs = judge(text.as_bytes()).unwrap_or_else(|found| panic!("{found:?}"));
        accepted += usize::from(ours.is_empty());
        for rule in ours.iter().map(|(rule, _)| *rule).collect::<BTreeSet<_>>() {
            *rules.entry(rule).or_default() += 1;
        }
        if ours != theirs {
            let (more, less): (Vec<_>, Vec<_>) =
                (ours.difference(&theirs).collect(), theirs.difference(&ours).collect());
            wrong.push(format!(
                "{} ({}): the reference alone {more:?}, the judge alone {less:?}",
                base.name,
                what.join(", ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {judged}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(accepted > WANTED / 20 && accepted < WANTED / 2, "{accepted} accepted: {rules:?}");
    for rule in [
        Rule::TD01,
        Rule::TD02,
        Rule::TD03,
        Rule::TR01,
        Rule::TR02,
        Rule::TR03,
        Rule::TR04,
        Rule::TR06,
        Rule::TR07,
        Rule::TX03,
        Rule::TX05,
    ] {
        assert!(rules.contains_key(&rule), "{rule} is never broken: {rules:?}");
    }
}

/// A task of a rank whose peers are not there.
fn line(random: &mut Random, puts: bool) -> String {
    let kinds = ["run", "run", "reduce", "copy", "meet", if puts { "put" } else { "run" }];
    let kind = kinds[random.below(kinds.len())];
    let events = ["", " e", " g", if puts { " ^f" } else { " f" }];
    let after = events[random.below(events.len())];
    let trigger = match kind {
        "copy" => " > 1.x",
        "put" => " > 1.f",
        _ => ["", " > e", " > g", if puts { "" } else { " > f" }][random.below(4)],
    };
    let tiles = ["", " r:a", " w:a", " r:a w:a", " r:b", " w:b"];
    format!("{kind}{after}{trigger}{}", tiles[random.below(tiles.len())])
}

/// What ranks that are not there may bring is given the benefit of the doubt, by both alike.
#[test]
fn graphs_of_one_rank_of_several_are_judged_alike() {
    let mut random = Random(SplitMix64::new(15));
    let (mut judged, mut races) = (0, 0);
    let mut wrong = Vec::new();
    while judged < WANTED {
        let puts = random.below(2) == 0;
        let lines: Vec<String> = (0..4 + random.below(4)).map(|_| line(&mut random, puts)).collect();
        let Ok(graph) = lines::bare(&lines) else { continue };
        let text = graph.to_string();
        let ours = found(&text);
        let has = |begin: &str| ours.iter().any(|(rule, _)| rule.id().starts_with(begin));
        // Where ids descend, what may come from others can make a cycle that is none, and the reference then judges no races.
        if has("TS") || has("TD04") || !has("TW04") {
            continue;
        }
        judged += 1;
        races += usize::from(has("TR"));
        let theirs = judge(text.as_bytes()).unwrap_or_else(|found| panic!("{found:?}"));
        if ours != theirs {
            wrong.push(format!("{lines:#?}: the reference {ours:?}, the judge {theirs:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {judged}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(races > WANTED / 10 && races < WANTED / 2, "{races} race");
}
