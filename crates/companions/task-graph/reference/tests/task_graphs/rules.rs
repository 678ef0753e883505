//! Every rule of task graphs on a small graph that breaks it by one edit or two, and on the graph before the edit.

#![allow(clippy::panic)]

use crate::support::{Builder, NONE, TAG, event, layers, rank_of_two, system, tile};
use megakernel_ir::{Rule, TaskId};
use megakernel_task_graph_reference::validate;
use serde_json::{Value, json};

/// Rules and pointers, without warnings unless asked for.
fn found(document: &Value, warnings: bool) -> Vec<(Rule, String)> {
    let verdict = validate(document.to_string().as_bytes());
    let diagnostics = verdict.diagnostics.into_iter().filter(|diagnostic| warnings || diagnostic.is_error());
    diagnostics.map(|diagnostic| (diagnostic.rule, diagnostic.pointer)).collect()
}

/// The edited document breaks one rule at one place.
#[track_caller]
fn breaks(base: &Value, edits: &[(&str, Value)], rule: Rule, pointer: &str) {
    assert_eq!(found(base, true), [], "the base is accepted");
    let mut edited = base.clone();
    for (at, value) in edits {
        set(&mut edited, at, value);
    }
    assert_eq!(
        found(&edited, rule.severity() == megakernel_ir::rule::Severity::Warning),
        [(rule, pointer.to_owned())]
    );
}

/// Sets a member or an item, which may be a new one.
fn set(document: &mut Value, pointer: &str, value: &Value) {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    match document.pointer_mut(parent).expect("a parent") {
        Value::Object(members) => drop(members.insert(name.to_owned(), value.clone())),
        Value::Array(items) => match name.parse::<usize>().expect("an index") {
            index if index < items.len() => items[index] = value.clone(),
            _ => items.push(value.clone()),
        },
        _ => panic!("{pointer} leads into no container"),
    }
}

#[test]
fn reserved_tasks_and_events() {
    let base = layers();
    breaks(&base, &[("/all_tasks/0/trigger_event", json!(2))], Rule::TS01, "/all_tasks/0");
    breaks(&base, &[("/all_tasks/1/trigger_event", json!(2))], Rule::TS01, "/all_tasks/1");
    breaks(&base, &[("/all_tasks/4/task_type", json!(202))], Rule::TS01, "/all_tasks/4");
    breaks(&base, &[("/all_events/0/num_triggers", json!(2))], Rule::TS02, "/all_events/0");
    breaks(&base, &[("/all_events/1/last_task_id", json!(7))], Rule::TS02, "/all_events/1");
    breaks(&base, &[("/all_events/5/last_task_id", json!(4))], Rule::TS02, "/all_events/5");
    breaks(&base, &[("/all_events/5/event_type", json!(900))], Rule::TS02, "/all_events");
    breaks(&base, &[("/all_events/3/event_type", json!(901))], Rule::TS03, "/all_events/3/event_type");
    assert_eq!(
        found(&json!({"all_events": [], "all_tasks": [], "first_tasks": []}), true),
        [(Rule::TS01, "/all_tasks".to_owned()), (Rule::TS02, "/all_events".to_owned()),]
    );
}

#[test]
fn event_ids_and_ranges() {
    let base = layers();
    breaks(&base, &[("/all_tasks/4/trigger_event", json!(6))], Rule::TS04, "/all_tasks/4/trigger_event");
    breaks(&base, &[("/all_tasks/4/trigger_event", json!(1))], Rule::TS04, "/all_tasks/4/trigger_event");
    breaks(&base, &[("/all_tasks/4/dependent_event", json!(5))], Rule::TS04, "/all_tasks/4/dependent_event");
    for id in [TAG | 3, event(1, 3), 1 << 50, -1] {
        breaks(&base, &[("/all_tasks/4/trigger_event", json!(id))], Rule::TS05, "/all_tasks/4/trigger_event");
    }
    breaks(
        &system(),
        &[("/ranks/1/all_tasks/3/trigger_event", json!(3))],
        Rule::TS05,
        "/ranks/1/all_tasks/3/trigger_event",
    );
    breaks(
        &system(),
        &[("/ranks/1/all_tasks/3/trigger_event", json!(TAG | 99))],
        Rule::TS04,
        "/ranks/1/all_tasks/3/trigger_event",
    );
    breaks(&base, &[("/all_events/2/last_task_id", json!(6))], Rule::TS06, "/all_events/2");
    breaks(&base, &[("/all_events/3/first_task_id", json!(4))], Rule::TS06, "/all_events/3");
    breaks(&base, &[("/first_tasks/1", json!(4))], Rule::TS07, "/first_tasks/1");
    breaks(&base, &[("/first_tasks/2", json!(4))], Rule::TS07, "/first_tasks/2");
    breaks(&base, &[("/first_tasks", json!([2]))], Rule::TS07, "/first_tasks");
}

#[test]
fn capacities_and_records() {
    let base = layers();
    let row = tile("x", 0, 0, 1, 64);
    breaks(
        &base,
        &[("/all_tasks/4/inputs", json!(vec![&base["all_tasks"][4]["inputs"][0]; 8]))],
        Rule::TS08,
        "/all_tasks/4/inputs",
    );
    let outputs: Vec<Value> = ["y", "u", "v"].map(|name| tile(name, 0, 0, 1, 64)).into();
    breaks(&base, &[("/all_tasks/4/outputs", json!(outputs))], Rule::TS08, "/all_tasks/4/outputs");
    let mut wide = row.clone();
    wide["dims"] = json!([1, 1, 1, 1, 1]);
    wide["strides"] = json!([1, 1, 1, 1, 1]);
    breaks(&base, &[("/all_tasks/2/inputs/0", wide)], Rule::TS08, "/all_tasks/2/inputs/0/dims");
    for (member, value) in [
        ("dims", json!([1])),
        ("dims", json!([0, 64])),
        ("strides", json!([-1, 1])),
        ("data_type", json!(999)),
    ] {
        breaks(
            &base,
            &[(&format!("/all_tasks/2/inputs/0/{member}"), value)],
            Rule::TS09,
            "/all_tasks/2/inputs/0",
        );
    }
    let null = json!({"base_ptr": "nullptr", "data_type": 999, "dims": [], "offset": 0, "strides": []});
    let mut with_null = base.clone();
    set(&mut with_null, "/all_tasks/2/inputs/2", &null);
    breaks(&with_null, &[("/all_tasks/2/inputs/2/offset", json!(2))], Rule::TS09, "/all_tasks/2/inputs/2");
}

#[test]
fn metadata() {
    let base = layers();
    breaks(&base, &[("/all_tasks/3/kv_idx", json!(0))], Rule::TS10, "/all_tasks/3/kv_idx");
    let mut extended = base.clone();
    for index in 0..8 {
        let values = if index < 2 { [-1, -1, -1, -1, -1] } else { [-65536, -65536, 0, 65535, -1] };
        for (member, value) in
            ["expert_offset", "task_offset", "request_id", "kv_idx", "merge_task_offset"].iter().zip(values)
        {
            set(&mut extended, &format!("/all_tasks/{index}/{member}"), &json!(value));
        }
    }
    for (member, value) in
        [("task_offset", 0), ("request_id", 1), ("kv_idx", 0), ("merge_task_offset", 1i64 << 31)]
    {
        let pointer = format!("/all_tasks/3/{member}");
        breaks(&extended, &[(&pointer, json!(value))], Rule::TS10, &pointer);
    }
    let mut missing = extended.clone();
    missing["all_tasks"][3].as_object_mut().expect("a task").remove("kv_idx");
    assert_eq!(found(&missing, true), [(Rule::TS10, "/all_tasks/3".to_owned())]);
}

#[test]
fn thresholds() {
    let base = layers();
    let place = "/all_events/2/num_triggers";
    breaks(&base, &[(place, json!(3))], Rule::TD02, place);
    breaks(&base, &[(place, json!(1))], Rule::TR01, place);
    breaks(&base, &[("/all_events/5/num_triggers", json!(0))], Rule::TR01, "/all_events/5/num_triggers");
    // The second half triggers the end, and nobody the first reader's event.
    let end = [
        ("/all_tasks/2/trigger_event", json!(5)),
        ("/all_tasks/3/trigger_event", json!(5)),
        ("/all_events/5/num_triggers", json!(3)),
        ("/all_tasks/4/inputs", json!(null)),
        ("/all_tasks/5/outputs", json!(null)),
        ("/all_tasks/6/outputs", json!(null)),
        ("/all_tasks/7/inputs", json!(null)),
    ];
    breaks(&base, &end, Rule::TD01, place);
}

#[test]
fn cycles_and_descending_ids() {
    let row = |name: &str| tile(name, 0, 0, 1, 64);
    let chain = Builder::new(0)
        .task(101, None, 2, &[], &[row("a")])
        .task(118, Some(2), 3, &[row("a")], &[row("b")])
        .task(118, Some(3), 4, &[row("b")], &[row("c")]);
    let base = chain.clone().graph(&[1, 1, 1]);
    assert_eq!(found(&base, true), []);
    // 3 waits for itself.
    let own = Builder::new(0).task(101, None, 3, &[], &[row("a")]).task(118, Some(2), 2, &[], &[]).task(
        118,
        Some(2),
        3,
        &[],
        &[],
    );
    assert_eq!(found(&own.clone().graph(&[1, 2]), false)[0], (Rule::TD03, "/all_tasks/3".to_owned()));
    // 3 and 4 wait for each other, and for nobody else.
    let cycle = Builder::new(0)
        .task(101, None, 5, &[], &[])
        .task(118, Some(2), 3, &[], &[])
        .task(118, Some(3), 2, &[], &[])
        .task(118, Some(3), 5, &[], &[]);
    let cycle = cycle.graph(&[1, 1, 0, 2]);
    let verdict = validate(cycle.to_string().as_bytes());
    let rules: Vec<(Rule, &str)> =
        verdict.diagnostics.iter().filter(|d| d.is_error()).map(|d| (d.rule, &*d.pointer)).collect();
    assert_eq!(rules, [(Rule::TD03, "/all_tasks/3")]);
    assert_eq!(
        verdict.diagnostics.iter().find(|d| d.rule == Rule::TD03).map(|d| d.tasks.clone()),
        Some(vec![TaskId::from(3), TaskId::from(4)])
    );
    // 2 waits for 3.
    let back =
        Builder::new(0).task(118, Some(2), 3, &[row("b")], &[row("c")]).task(101, None, 2, &[], &[row("b")]);
    assert_eq!(found(&back.graph(&[1, 1]), true), [(Rule::TD04, "/all_tasks/2/dependent_event".to_owned())]);
}

#[test]
fn queues_of_two_ranks() {
    // Each rank first waits for what the other sends, and then sends.
    let rank = |rank: i64, swap: bool| {
        let to = TAG | event(1 - rank, 2);
        let slots = |offset: i64| json!({"base_ptr": "b", "data_type": 941, "dims": [2, 64], "offset": offset, "strides": [64, 1]});
        let copy =
            |builder: Builder| builder.task(199, None, to, &[tile("x", 0, 0, 1, 64)], &[slots(128 * rank)]);
        let reduce = |builder: Builder| {
            builder.task(107, Some(2), 3, &[tile("x", 0, 0, 1, 64), slots(0)], &[tile("y", 0, 0, 1, 64)])
        };
        let builder = Builder::new(rank);
        if swap { copy(reduce(builder)) } else { reduce(copy(builder)) }.graph(&[1, 1])
    };
    let rules = |swap: bool| found(&json!({"ranks": [rank(0, swap), rank(1, swap)]}), true);
    assert_eq!(rules(true).first(), Some(&(Rule::TD04, "/ranks/0/all_tasks/2/dependent_event".to_owned())));
    assert!(rules(false).iter().all(|(rule, _)| *rule == Rule::TX04), "{:?}", rules(false));
}

#[test]
fn lost_tasks() {
    let base = Builder::new(0).task(101, None, 3, &[], &[]).task(101, None, 2, &[], &[]).task(
        101,
        Some(2),
        3,
        &[],
        &[],
    );
    let base = base.graph(&[1, 2]);
    let edits = [("/all_tasks/2/trigger_event", json!(NONE)), ("/all_events/3/num_triggers", json!(1))];
    breaks(&base, &edits, Rule::TD05, "/all_tasks/2/trigger_event");
    // What leads to a lost task is lost as well.
    let edits = [("/all_tasks/4/trigger_event", json!(NONE)), ("/all_events/3/num_triggers", json!(1))];
    let mut both = base.clone();
    edits.iter().for_each(|(pointer, value)| set(&mut both, pointer, value));
    let lost = [3, 4].map(|task| (Rule::TD05, format!("/all_tasks/{task}/trigger_event")));
    assert_eq!(found(&both, true), lost);
}

#[test]
fn races_of_one_rank() {
    let row = |name: &str| tile(name, 0, 0, 1, 64);
    let half = |part: i64| tile("h", 0, 32 * part, 1, 32);
    let graph = |first: &[Value], written: &[Value], second: &[Value], also: &[Value]| {
        Builder::new(0).task(101, None, 2, first, written).task(102, None, 2, second, also).graph(&[2])
    };
    assert_eq!(found(&graph(&[row("x")], &[half(0)], &[row("x")], &[half(1)]), true), []);
    assert_eq!(
        found(&graph(&[], &[half(0)], &[row("h")], &[]), true),
        [(Rule::TR02, "/all_tasks/3/inputs/0".to_owned())]
    );
    assert_eq!(
        found(&graph(&[row("h")], &[], &[], &[half(1)]), true),
        [(Rule::TR03, "/all_tasks/3/outputs/0".to_owned())]
    );
    assert_eq!(
        found(&graph(&[], &[half(0)], &[], &[row("h")]), true),
        [(Rule::TR04, "/all_tasks/3/outputs/0".to_owned())]
    );
    // The second layer overwrites a half of `h` that its only reader has left out.
    let base = layers();
    breaks(&base, &[("/all_tasks/4/inputs/0", half(0))], Rule::TR05, "/all_tasks/3/outputs/0");
    // The second layer does not wait for the reader of the first.
    let mut early = base.clone();
    for task in [5, 6] {
        set(&mut early, &format!("/all_tasks/{task}/dependent_event"), &json!(2));
        set(&mut early, &format!("/all_tasks/{task}/inputs"), &json!(null));
    }
    set(&mut early, "/all_events/2/last_task_id", &json!(7));
    set(&mut early, "/all_tasks/4/trigger_event", &json!(5));
    set(&mut early, "/all_events/5/num_triggers", &json!(2));
    set(
        &mut early,
        "/all_events/3",
        &json!({"event_type": 900, "first_task_id": 0, "last_task_id": 0, "num_triggers": 1}),
    );
    assert_eq!(
        found(&early, false),
        [
            (Rule::TR03, "/all_tasks/5/outputs/0".to_owned()),
            (Rule::TR03, "/all_tasks/6/outputs/0".to_owned())
        ]
    );
}

#[test]
fn caches_are_read_and_written() {
    let row = |name: &str| tile(name, 0, 0, 1, 64);
    let graph = |kind: i64| {
        Builder::new(0)
            .task(kind, None, 2, &[row("q"), row("k"), row("v")], &[row("a")])
            .task(kind, None, 2, &[row("q"), row("k"), row("v")], &[row("b")])
            .graph(&[2])
    };
    assert_eq!(found(&graph(102), true), []);
    let rules: Vec<Rule> = found(&graph(103), true).into_iter().map(|(rule, _)| rule).collect();
    assert_eq!(rules, [Rule::TR02, Rule::TR02, Rule::TR03, Rule::TR03, Rule::TR04, Rule::TR04]);
}

#[test]
fn bounds() {
    let base = layers();
    breaks(
        &base,
        &[("/all_tasks/2/inputs/1/strides", json!([32, 1])), ("/all_tasks/2/inputs/1/dims", json!([2, 64]))],
        Rule::TB01,
        "/all_tasks/2/inputs/1",
    );
    breaks(
        &base,
        &[("/all_tasks/2/inputs/1/strides", json!([1, 1])), ("/all_tasks/2/inputs/1/dims", json!([2, 64]))],
        Rule::TB01,
        "/all_tasks/2/inputs/1",
    );
    breaks(
        &base,
        &[("/all_tasks/7/outputs/0/strides", json!([0, 1])), ("/all_tasks/7/outputs/0/dims", json!([2, 64]))],
        Rule::TB01,
        "/all_tasks/7/outputs/0",
    );
    let mut broadcast = base.clone();
    set(
        &mut broadcast,
        "/all_tasks/2/inputs/1",
        &json!({"base_ptr": "w", "data_type": 941, "dims": [8, 64], "offset": 0, "strides": [0, 1]}),
    );
    assert_eq!(found(&broadcast, true), [], "a broadcast is read");
    breaks(&base, &[("/all_tasks/2/inputs/1/offset", json!(1))], Rule::TB02, "/all_tasks/2/inputs/1/offset");
    breaks(&base, &[("/all_tasks/2/inputs/1/offset", json!(-2))], Rule::TB02, "/all_tasks/2/inputs/1/offset");
}

#[test]
fn declared_tensors() {
    let tensors: Vec<Value> = ["x", "w", "h", "y", "z"]
        .iter()
        .map(|name| json!({"name": name, "data_type": 941, "dims": [1, 64]}))
        .collect();
    let base = json!({"ranks": [layers()], "kernel_graph": {"tensors": tensors, "operators": []}});
    breaks(
        &base,
        &[("/ranks/0/all_tasks/2/inputs/1/base_ptr", json!("v"))],
        Rule::TB03,
        "/ranks/0/all_tasks/2/inputs/1",
    );
    breaks(
        &base,
        &[("/kernel_graph/tensors/4/data_type", json!(940))],
        Rule::TB03,
        "/ranks/0/all_tasks/7/outputs/0",
    );
    breaks(
        &base,
        &[("/ranks/0/all_tasks/2/inputs/1/offset", json!(2))],
        Rule::TB01,
        "/ranks/0/all_tasks/2/inputs/1",
    );
    breaks(
        &base,
        &[("/kernel_graph/tensors/4/dims", json!([1, 63]))],
        Rule::TB01,
        "/ranks/0/all_tasks/7/outputs/0",
    );
    // Within the memory, but past the end of a row.
    let edits = [
        ("/kernel_graph/tensors/4/dims", json!([2, 64])),
        ("/ranks/0/all_tasks/7/outputs/0/offset", json!(32)),
    ];
    breaks(&base, &edits, Rule::TB01, "/ranks/0/all_tasks/7/outputs/0");
}

#[test]
fn systems_of_two_ranks() {
    let base = system();
    assert_eq!(
        found(&json!({"ranks": [rank_of_two(1), rank_of_two(0)]}), true),
        [(Rule::TX01, "/ranks/0".to_owned()), (Rule::TX01, "/ranks/1".to_owned()),]
    );
    let alone = found(&json!({"ranks": [rank_of_two(0)]}), true);
    assert_eq!(alone, [(Rule::TX01, "/ranks/0".to_owned())]);
    assert_eq!(found(&rank_of_two(1), true), [(Rule::TW04, String::new())]);
    // A local task triggers what copies trigger, once more.
    let edits = [
        ("/ranks/0/all_tasks/2/trigger_event", json!(3)),
        ("/ranks/0/all_events/3/num_triggers", json!(3)),
        ("/ranks/0/all_events/2/num_triggers", json!(1)),
    ];
    let mut mixed = base.clone();
    edits.iter().for_each(|(pointer, value)| set(&mut mixed, pointer, value));
    assert!(found(&mixed, false).contains(&(Rule::TX02, "/ranks/0/all_events/3".to_owned())));
    // Both copies of rank 0 go to rank 0, and rank 1 waits for its own alone: a rank ahead.
    let edits = [
        ("/ranks/0/all_tasks/4/trigger_event", json!(TAG | 3)),
        ("/ranks/0/all_tasks/4/outputs/0/base_ptr", json!("b2")),
        ("/ranks/0/all_events/3/num_triggers", json!(3)),
        ("/ranks/1/all_events/3/num_triggers", json!(1)),
    ];
    let mut twice = base.clone();
    edits.iter().for_each(|(pointer, value)| set(&mut twice, pointer, value));
    let twice = found(&twice, true);
    assert_eq!(twice[0], (Rule::TX02, "/ranks/0/all_events/3".to_owned()));
    assert!(twice[1..].iter().all(|(rule, _)| *rule == Rule::TX04), "{twice:?}");
    // One buffer for both all-reduces: a rank may send for the second while its peer still adds up the first.
    let mut shared = base.clone();
    for rank in 0..2 {
        for (task, list) in [(7, "outputs/0"), (8, "outputs/0"), (9, "inputs/1")] {
            set(&mut shared, &format!("/ranks/{rank}/all_tasks/{task}/{list}/base_ptr"), &json!("b0"));
        }
    }
    assert_eq!(
        found(&shared, true),
        [
            (Rule::TX03, "/ranks/1/all_tasks/7/outputs/0".to_owned()),
            (Rule::TX03, "/ranks/0/all_tasks/8/outputs/0".to_owned()),
        ]
    );
}

#[test]
fn one_all_reduce_an_iteration_is_overtaken() {
    let rank = |rank: i64| {
        let slots = |offset: i64| json!({"base_ptr": "b", "data_type": 941, "dims": [2, 64], "offset": offset, "strides": [64, 1]});
        let row = |name: &str| tile(name, 0, 0, 1, 64);
        Builder::new(rank)
            .task(102, None, 2, &[row("x")], &[row("p")])
            .task(199, Some(2), TAG | event(0, 3), &[row("p")], &[slots(128 * rank)])
            .task(199, Some(2), TAG | event(1, 3), &[row("p")], &[slots(128 * rank)])
            .task(107, Some(3), 4, &[slots(0)], &[row("s")])
            .graph(&[1, 2, 1])
    };
    let found = found(&json!({"ranks": [rank(0), rank(1)]}), true);
    assert!(found.iter().all(|(rule, _)| *rule == Rule::TX04), "{found:?}");
    for pointer in [
        "/ranks/0/all_tasks/4/outputs/0",
        "/ranks/1/all_tasks/3/outputs/0",
        "/ranks/0/all_tasks/4/trigger_event",
    ] {
        assert!(found.contains(&(Rule::TX04, pointer.to_owned())), "{pointer}: {found:?}");
    }
}

#[test]
fn warnings() {
    let base = layers();
    breaks(&base, &[("/all_tasks/7/task_type", json!(7777))], Rule::TW01, "/all_tasks/7/task_type");
    breaks(
        &base,
        &[(
            "/all_events/6",
            json!({"event_type": 900, "first_task_id": 0, "last_task_id": 0, "num_triggers": 1}),
        )],
        Rule::TW02,
        "/all_events/6",
    );
    breaks(&base, &[("/all_tasks/6/inputs/1/data_type", json!(951))], Rule::TW03, "/all_tasks/6/inputs/1");
}

#[test]
fn a_finding_carries_its_witness() {
    let base = system();
    let mut racing = base.clone();
    // The second REDUCE of rank 1 reads what the first one's rank neighbour writes: nothing there waits for it.
    set(&mut racing, "/ranks/1/all_tasks/2/outputs/0/base_ptr", &json!("q"));
    let verdict = validate(racing.to_string().as_bytes());
    let json = serde_json::to_value(&verdict.diagnostics).expect("JSON");
    for diagnostic in json.as_array().expect("a list") {
        assert!(diagnostic["witness"]["kind"] == "overlap" || diagnostic["rule"] == "TX04", "{diagnostic}");
    }
}
