//! Faults planted in the conversions (clauses SCH-15 and SCH-16): what comes out is changed as a conversion would that forgets or mistakes
//! something. The comparison of verdicts has to notice each in [`REQUIRED`] documents of the corpus; and it must not mind what means the same.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::conversions::{converted, lowered};

/// Documents that have to notice a fault.
const REQUIRED: usize = 3;

/// Name, and what is done to the document that a conversion gives.
type Change = (&'static str, fn(&mut Value));

fn list<'d>(value: &'d mut Value, member: &str) -> impl Iterator<Item = &'d mut Value> + use<'d> {
    value.get_mut(member).and_then(Value::as_array_mut).into_iter().flatten()
}

fn phases(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    list(document, "tasks").flat_map(|task| list(task, "phases"))
}

fn entries<'d>(
    document: &'d mut Value,
    lists: &'static [&'static str],
) -> impl Iterator<Item = &'d mut Value> {
    let of_phase = move |phase: &'d mut Value| {
        let members = phase.as_object_mut().into_iter().flatten();
        members
            .filter(|(name, _)| lists.contains(&name.as_str()))
            .filter_map(|(_, list)| list.as_array_mut())
            .flatten()
    };
    phases(document).flat_map(of_phase)
}

fn keep(document: &mut Value, member: &str, keep: fn(usize, usize) -> bool) {
    for list in phases(document).filter_map(|phase| phase.get_mut(member)?.as_array_mut()) {
        let (many, mut place) = (list.len(), 0);
        list.retain(|_| {
            place += 1;
            keep(place - 1, many)
        });
    }
}

fn numbers(document: &mut Value, member: &'static [&'static str], change: fn(i64) -> i64) {
    entries(document, member).for_each(|entry| entry[1] = json!(change(entry[1].as_i64().unwrap_or(1))));
}

/// Moves the entries of one list to another.
fn moved(document: &mut Value, from: &str, to: &str) {
    for phase in phases(document) {
        let Some(mut moved) = phase.get_mut(from).and_then(Value::as_array_mut).map(std::mem::take) else {
            continue;
        };
        let mut all = phase.get(to).and_then(Value::as_array).cloned().unwrap_or_default();
        all.append(&mut moved);
        phase[to] = json!(all);
    }
}

/// The intervals of all regions.
fn intervals(document: &mut Value, change: fn(i64, i64) -> [i64; 2]) {
    for entry in entries(document, ACCESSES) {
        let region = &mut entry[1];
        let bounds = if region.is_array() { Some(region) } else { region.get_mut("box") };
        for interval in bounds.and_then(Value::as_array_mut).into_iter().flatten() {
            let [low, high] = [0, 1].map(|end| interval[end].as_i64().unwrap_or(0));
            *interval = json!(change(low, high));
        }
    }
}

fn tensors(document: &mut Value, change: impl FnMut(&mut Value)) {
    document["tensors"].as_object_mut().into_iter().flatten().map(|(_, tensor)| tensor).for_each(change);
}

fn tasks(document: &mut Value, change: fn(&mut Vec<Value>)) {
    document["tasks"].as_array_mut().into_iter().for_each(change);
}

fn names(document: &mut Value, lists: &'static [&'static str], change: fn(&str) -> String) {
    entries(document, lists)
        .for_each(|entry| entry[0] = json!(change(entry[0].as_str().unwrap_or_default())));
}

const ACCESSES: &[&str] = &["reads", "writes", "adds"];
const COUNTS: &[&str] = &["waits", "signals"];

/// What a conversion to schedules can get wrong.
#[rustfmt::skip] // a table
const TO_SCHEDULE: &[Change] = &[
    ("the first wait of each task lost", |of| keep(of, "waits", |place, _| place > 0)),
    ("the last wait of each task lost", |of| keep(of, "waits", |place, many| place + 1 < many)),
    ("waits beyond the first lost", |of| keep(of, "waits", |place, _| place == 0)),
    ("each count one", |of| numbers(of, &["waits"], |_| 1)),
    ("each count one less", |of| numbers(of, &["waits"], |count| (count - 1).max(1))),
    ("each count one more", |of| numbers(of, &["waits"], |count| count + 1)),
    ("amounts swapped for two", |of| numbers(of, &["signals"], |_| 2)),
    ("signals lost", |of| keep(of, "signals", |_, _| false)),
    ("reads lost", |of| keep(of, "reads", |_, _| false)),
    ("reads beyond the first lost", |of| keep(of, "reads", |place, _| place == 0)),
    ("the first read lost", |of| keep(of, "reads", |place, _| place > 0)),
    ("writes lost", |of| keep(of, "writes", |_, _| false)),
    ("regions lost", |of| entries(of, ACCESSES).for_each(|entry| entry[1] = Value::Null)),
    ("a region without its offset", |of| intervals(of, |low, high| [0, high - low])),
    ("the last element of a region lost", |of| intervals(of, |low, high| [low, (high - 1).max(low)])),
    ("queues lost", |of| list(of, "tasks").for_each(|task| task["queue"] = Value::Null)),
    ("one queue for all", |of| list(of, "tasks").for_each(|task| task["queue"] = json!(0))),
    ("queues from the last task on", |of| tasks(of, |tasks| tasks.reverse())),
    ("the first task lost", |of| tasks(of, |tasks| { if !tasks.is_empty() { tasks.remove(0); } })),
    ("the last task lost", |of| tasks(of, |tasks| { tasks.pop(); })),
    ("tasks without queue lost", |of| tasks(of, |tasks| tasks.retain(|task| !task["queue"].is_null()))),
    ("pages lost", |of| tensors(of, |tensor| tensor["storage"] = Value::Null)),
    ("pages of one byte", |of| of.get_mut("storages").and_then(Value::as_object_mut).into_iter().flatten().for_each(|(_, page)| page["bytes"] = json!(1))),
    ("what the host fills forgotten", |of| tensors(of, |tensor| tensor["init"] = json!(false))),
    ("all filled for each launch", |of| tensors(of, |tensor| tensor["init"] = json!(true))),
    ("launch state forgotten", |of| tensors(of, |tensor| if tensor["init"] == "once" { tensor["init"] = json!(true); })),
    ("no kinds", |of| tensors(of, |tensor| tensor["kind"] = json!("activation"))),
    ("weights for activations", |of| tensors(of, |tensor| if tensor["kind"] == "weight" { tensor["kind"] = json!("activation"); })),
    ("inputs for activations", |of| tensors(of, |tensor| if tensor["kind"] == "input" { tensor["kind"] = json!("activation"); })),
    ("all is kept from launch to launch", |of| tensors(of, |tensor| tensor["kind"] = json!("cache"))),
    ("periods lost", |of| of["events"] = json!({})),
    ("periods one more", |of| of.get_mut("events").and_then(Value::as_object_mut).into_iter().flatten().for_each(|(_, event)| event["period"] = json!(event["period"].as_i64().unwrap_or(0) + 1))),
    ("phases of a task merged", merged),
    ("phases after the first lost", |of| list(of, "tasks").filter_map(|task| task["phases"].as_array_mut()).for_each(|phases| phases.truncate(1))),
    ("phases before the last lost", |of| list(of, "tasks").filter_map(|task| task["phases"].as_array_mut()).for_each(|phases| { phases.drain(..phases.len().saturating_sub(1)); })),
    ("accumulations as writes", |of| moved(of, "adds", "writes")),
    ("accumulations as reads", |of| moved(of, "adds", "reads")),
    ("accumulations lost", |of| keep(of, "adds", |_, _| false)),
    ("writes as accumulations", |of| moved(of, "writes", "adds")),
    ("reads as writes", |of| moved(of, "reads", "writes")),
    ("writes as reads", |of| moved(of, "writes", "reads")),
    ("signals that do not release", |of| of["memory"] = json!({"signal": "relaxed"})),
    ("waits that do not acquire", |of| of["memory"] = json!({"wait": "relaxed"})),
    ("queues that order memory", |of| of["memory"] = json!({"queue": "ordered"})),
    ("events without their number", |of| names(of, COUNTS, |name| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned())),
    ("memory of one rank for that of another", |of| names(of, ACCESSES, |name| name.replace("rank 1", "rank 0"))),
];

fn merged(document: &mut Value) {
    for phases in list(document, "tasks")
        .filter_map(|task| task["phases"].as_array_mut())
        .filter(|phases| phases.len() > 1)
    {
        let mut all = json!({});
        for member in ["waits", "reads", "writes", "adds", "signals"] {
            all[member] =
                phases.iter().filter_map(|phase| phase[member].as_array()).flatten().cloned().collect();
        }
        *phases = vec![all];
    }
}

/// What another conversion may do.
#[rustfmt::skip] // a table
const SAME: &[Change] = &[
    ("no names of tasks", |of| list(of, "tasks").for_each(|task| task["name"] = json!(""))),
    ("lists backwards", |of| phases(of).filter_map(Value::as_object_mut).flatten().filter_map(|(_, list)| list.as_array_mut()).for_each(|list| list.reverse())),
    ("all numbers doubled", |of| {
        numbers(of, COUNTS, |number| 2 * number);
        of.get_mut("events").and_then(Value::as_object_mut).into_iter().flatten().for_each(|(_, event)| event["period"] = json!(2 * event["period"].as_i64().unwrap_or(0)));
    }),
    ("other queues", |of| list(of, "tasks").for_each(|task| if let Some(queue) = task["queue"].as_i64() { task["queue"] = json!(7 - 2 * queue); })),
    ("the memory order written out", |of| of["memory"] = json!({"signal": "release", "wait": "acquire", "queue": "unordered"})),
    ("accesses twice", |of| phases(of).for_each(|phase| for member in ["reads", "adds"] {
        let Some(list) = phase.get_mut(member).and_then(Value::as_array_mut) else { continue };
        list.extend_from_within(..);
    })),
    ("waits in a phase before", |of| list(of, "tasks").filter_map(|task| task["phases"].as_array_mut()).for_each(|phases| {
        let waits = phases.first_mut().map(|phase| phase["waits"].take()).filter(|waits| !waits.is_null());
        if let Some(phase) = phases.first_mut() { phase["waits"] = json!([]); }
        phases.insert(0, json!({"waits": waits.unwrap_or(json!([]))}));
    })),
];

/// What a conversion to programs can get wrong.
#[rustfmt::skip] // a table
const TO_PROGRAM: &[Change] = &[
    ("the first wait of each task lost", |of| of_tasks(of, "waits", |waits| { if !waits.is_empty() { waits.remove(0); } })),
    ("the last wait of each task lost", |of| of_tasks(of, "waits", |waits| { waits.pop(); })),
    ("each threshold one more", |of| thresholds(of, |number| number + 1)),
    ("each threshold one", |of| thresholds(of, |_| 1)),
    ("tasks without SM", |of| list(of, "tasks").for_each(|task| task["sm"] = Value::Null)),
    ("one SM for all", |of| list(of, "tasks").for_each(|task| task["sm"] = json!(0))),
    ("reads lost", |of| copies(of, |from, _| from == 0)),
    ("writes lost", |of| copies(of, |from, _| from != 0)),
    ("no accesses", |of| copies(of, |_, _| false)),
    ("reads of one buffer", |of| list(of, "tasks").filter(|task| task["op"] == "COPY" && task["inputs"][0] != 0).for_each(|task| task["inputs"] = json!([1]))),
    ("all kinds alike", |of| kinds(of, |_| "ACTIVATION")),
    ("inputs for activations", |of| kinds(of, |kind| if kind == "IO_INPUT" { "ACTIVATION" } else { kind })),
    ("launch state forgotten", |of| kinds(of, |kind| if kind == "KV_CACHE" { "ACTIVATION" } else { kind })),
    ("activations for caches", |of| kinds(of, |kind| if kind == "ACTIVATION" { "KV_CACHE" } else { kind })),
    ("signals of the last event's counter", |of| list(of, "tasks").for_each(|task| if task["out_counter"] == 0 { task["out_counter"] = json!(1); })),
];

fn of_tasks(document: &mut Value, member: &str, change: fn(&mut Vec<Value>)) {
    list(document, "tasks").filter_map(|task| task.get_mut(member)?.as_array_mut()).for_each(change);
}

fn thresholds(document: &mut Value, change: fn(i64) -> i64) {
    for wait in list(document, "tasks").flat_map(|task| list(task, "waits")) {
        wait["threshold"] = json!(change(wait["threshold"].as_i64().unwrap_or(1)));
    }
}

/// Makes those copies nothing that this does not keep.
fn copies(document: &mut Value, keep: fn(i64, i64) -> bool) {
    for task in list(document, "tasks").filter(|task| task["op"] == "COPY") {
        let [from, to] = ["inputs", "outputs"].map(|member| task[member][0].as_i64().unwrap_or(0));
        if !keep(from, to) {
            (task["op"], task["inputs"], task["outputs"]) = (json!("NOP"), json!([]), json!([]));
        }
    }
}

fn kinds(document: &mut Value, change: for<'k> fn(&'k str) -> &'k str) {
    for buffer in list(document, "buffers") {
        let kind = buffer["kind"].as_str().unwrap_or_default().to_owned();
        buffer["kind"] = json!(change(&kind));
    }
}

/// How many documents notice each change, where the conversion gives these documents and this says whether one is noticed.
fn noticed<T>(
    changes: &[Change],
    all: &[(Value, T)],
    most: usize,
    differs: impl Fn(&Value, &T) -> bool,
) -> BTreeMap<&'static str, usize> {
    let mut counts: BTreeMap<&str, usize> = changes.iter().map(|(name, _)| (*name, 0)).collect();
    for (document, of) in all {
        // Where something is amiss as it is, a change is nothing to notice.
        let mut is_right = false;
        for (name, change) in changes {
            if counts[name] >= most {
                continue;
            }
            let mut changed = document.clone();
            change(&mut changed);
            if changed != *document && differs(&changed, of) {
                assert!(is_right || !differs(document, of), "{document} differs as it is");
                is_right = true;
                *counts.entry(name).or_default() += 1;
            }
        }
    }
    counts
}

fn assert_noticed(counts: &BTreeMap<&str, usize>, changes: &[Change]) {
    assert_eq!(counts.len(), changes.len(), "each has a name of its own");
    let missed: Vec<_> = counts.iter().filter(|(_, count)| **count < REQUIRED).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn a_faulty_conversion_to_schedules_is_noticed_and_another_right_one_is_not() {
    let all = converted();
    assert!(all.len() > 1200, "{}", all.len());
    let counts = noticed(TO_SCHEDULE, &all, REQUIRED, |schedule, of| of.differs(schedule));
    assert_noticed(&counts, TO_SCHEDULE);
    let some: Vec<_> = all.into_iter().step_by(12).collect();
    let minded = noticed(SAME, &some, usize::MAX, |schedule, of| of.differs(schedule));
    assert!(minded.values().all(|count| *count == 0), "{minded:#?}");
}

#[test]
fn a_faulty_conversion_to_programs_is_noticed() {
    let all = lowered();
    assert!(all.len() > 300, "{}", all.len());
    let counts = noticed(TO_PROGRAM, &all, REQUIRED, |program, of| of.differs(program));
    assert_noticed(&counts, TO_PROGRAM);
}
