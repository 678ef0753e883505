//! Faults planted in the conversions (clauses SCH-15 and SCH-16): what comes out is changed as a conversion would that forgets or mistakes
//! something. The comparison of verdicts has to notice each in [`REQUIRED`] documents of the corpus; and it must not mind what means the same.

use std::collections::BTreeMap;

use megakernel_schedule_cases::changes::{
    ACCESSES, COUNTS, entries, event_names, keep, kind_for, misread, phases, put, taken_for, tensors,
};
use serde_json::{Value, json};

use super::conversions::{converted, lowered};

/// Documents that have to notice a fault.
const REQUIRED: usize = 3;

/// Name, and what is done to the document that a conversion gives.
type Change = (&'static str, fn(&mut Value));

fn list<'d>(value: &'d mut Value, member: &str) -> impl Iterator<Item = &'d mut Value> + use<'d> {
    value.get_mut(member).and_then(Value::as_array_mut).into_iter().flatten()
}

/// The values of an object of the document.
fn members<'d>(document: &'d mut Value, member: &str) -> impl Iterator<Item = &'d mut Value> + use<'d> {
    document.get_mut(member).and_then(Value::as_object_mut).into_iter().flat_map(|all| all.values_mut())
}

fn numbers(document: &mut Value, lists: &'static [&'static str], change: fn(i64) -> i64) {
    entries(document, lists).for_each(|entry| entry[1] = json!(change(entry[1].as_i64().unwrap_or(1))));
}

/// Moves each interval of a region to the beginning of its axis.
fn to_the_beginning(document: &mut Value) {
    for entry in entries(document, ACCESSES) {
        let region = &mut entry[1];
        let bounds = if region.is_array() { Some(region) } else { region.get_mut("box") };
        for interval in bounds.and_then(Value::as_array_mut).into_iter().flatten() {
            let [low, high] = [0, 1].map(|end| interval[end].as_i64().unwrap_or(0));
            *interval = json!([0, high - low]);
        }
    }
}

fn tasks(document: &mut Value, change: fn(&mut Vec<Value>)) {
    document["tasks"].as_array_mut().into_iter().for_each(change);
}

/// Faults of validators, by which a schedule is misread, that a conversion to schedules can have as well.
const MISREAD: [&str; 25] = [
    "first-wait",
    "counts-one",
    "counts-less",
    "counts-more",
    "no-reads",
    "no-regions",
    "no-runs",
    "closed-intervals",
    "no-queues",
    "backwards",
    "last-task",
    "no-storages",
    "unfilled",
    "filled",
    "once-is-always",
    "one-kind",
    "no-periods",
    "one-phase",
    "first-phase",
    "last-phase",
    "adds-are-writes",
    "adds-are-reads",
    "no-adds",
    "writes-are-adds",
    "queues-order",
];

/// What else a conversion to schedules can get wrong.
#[rustfmt::skip] // a table
const TO_SCHEDULE: &[Change] = &[
    ("the first wait of each task lost", |of| keep(of, "waits", |place, _| place > 0)),
    ("the last wait of each task lost", |of| keep(of, "waits", |place, many| place + 1 < many)),
    ("amounts swapped for two", |of| numbers(of, &["signals"], |_| 2)),
    ("signals lost", |of| keep(of, "signals", |_, _| false)),
    ("reads beyond the first lost", |of| keep(of, "reads", |place, _| place == 0)),
    ("the first read lost", |of| keep(of, "reads", |place, _| place > 0)),
    ("writes lost", |of| keep(of, "writes", |_, _| false)),
    ("a region without its offset", to_the_beginning),
    ("one queue for all", |of| list(of, "tasks").for_each(|task| task["queue"] = json!(0))),
    ("the first task lost", |of| tasks(of, |tasks| { if !tasks.is_empty() { tasks.remove(0); } })),
    ("tasks without queue lost", |of| tasks(of, |tasks| tasks.retain(|task| !task["queue"].is_null()))),
    ("pages of one byte", |of| members(of, "storages").for_each(|page| page["bytes"] = json!(1))),
    ("weights for activations", |of| kind_for(of, "weight", "activation")),
    ("inputs for activations", |of| kind_for(of, "input", "activation")),
    ("all is kept from launch to launch", |of| tensors(of).for_each(|tensor| put(tensor, "kind", json!("cache")))),
    ("periods one more", |of| members(of, "events").for_each(|event| event["period"] = json!(event["period"].as_i64().unwrap_or(0) + 1))),
    ("reads as writes", |of| taken_for(of, "reads", "writes")),
    ("writes as reads", |of| taken_for(of, "writes", "reads")),
    ("signals that do not release", |of| of["memory"] = json!({"signal": "relaxed"})),
    ("waits that do not acquire", |of| of["memory"] = json!({"wait": "relaxed"})),
    ("events without their number", |of| event_names(of, |name| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned())),
    ("memory of one rank for that of another", |of| entries(of, ACCESSES).for_each(|entry| entry[0] = json!(entry[0].as_str().unwrap_or_default().replace("rank 1", "rank 0")))),
];

/// What another conversion may do.
#[rustfmt::skip] // a table
const SAME: &[Change] = &[
    ("no names of tasks", |of| list(of, "tasks").for_each(|task| task["name"] = json!(""))),
    ("lists backwards", |of| phases(of).filter_map(Value::as_object_mut).flatten().filter_map(|(_, list)| list.as_array_mut()).for_each(|list| list.reverse())),
    ("all numbers doubled", |of| {
        numbers(of, COUNTS, |number| 2 * number);
        members(of, "events").for_each(|event| event["period"] = json!(2 * event["period"].as_i64().unwrap_or(0)));
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
    ("weights for activations", |of| kinds(of, |kind| if kind == "WEIGHT" { "ACTIVATION" } else { kind })),
    ("launch state forgotten", |of| kinds(of, |kind| if kind == "KV_CACHE" { "ACTIVATION" } else { kind })),
    ("activations for caches", |of| kinds(of, |kind| if kind == "ACTIVATION" { "KV_CACHE" } else { kind })),
    ("signals of the last event's counter", |of| list(of, "tasks").for_each(|task| if task["out_counter"] == 0 { task["out_counter"] = json!(1); })),
];

/// What another conversion to programs may do.
#[rustfmt::skip] // a table
const SAME_PROGRAM: &[Change] = &[
    ("no names and labels", |of| {
        list(of, "tasks").for_each(|task| task["label"] = json!(""));
        list(of, "buffers").for_each(|buffer| buffer["name"] = json!("b"));
    }),
    ("waits backwards", |of| of_tasks(of, "waits", |waits| waits.reverse())),
    ("counters backwards", |of| {
        let last = of["counters"].as_array().map_or(0, Vec::len) as i64 - 1;
        for task in list(of, "tasks") {
            task["out_counter"] = json!(last - task["out_counter"].as_i64().unwrap_or(0));
            list(task, "waits").for_each(|wait| wait["counter"] = json!(last - wait["counter"].as_i64().unwrap_or(0)));
        }
    }),
    ("buffers backwards", |of| {
        let last = of["buffers"].as_array().map_or(0, Vec::len) as i64 - 1;
        for task in list(of, "tasks") {
            for member in ["inputs", "outputs"] {
                list(task, member).for_each(|buffer| *buffer = json!(last - buffer.as_i64().unwrap_or(0)));
            }
        }
        if let Some(buffers) = of["buffers"].as_array_mut() { buffers.reverse(); }
        list(of, "buffers").enumerate().for_each(|(id, buffer)| buffer["id"] = json!(id));
    }),
    ("other SMs", |of| list(of, "tasks").for_each(|task| if let Some(sm) = task["sm"].as_i64() { task["sm"] = json!(2 * sm + 3); })),
    ("tasks SM by SM", |of| {
        tasks(of, |tasks| tasks.sort_by_key(|task| task["sm"].as_i64()));
        list(of, "tasks").enumerate().for_each(|(id, task)| task["id"] = json!(id));
    }),
    ("larger buffers", |of| list(of, "buffers").for_each(|buffer| (buffer["dtype"], buffer["shape"]) = (json!("F32"), json!([2, 3])))),
    ("reads into outputs", |of| list(of, "buffers").filter(|buffer| buffer["name"] == "what is read").for_each(|buffer| buffer["kind"] = json!("IO_OUTPUT"))),
    ("a counter and a buffer that nobody needs", |of| for (member, mut more) in [("counters", json!({})), ("buffers", json!({"name": "more", "kind": "ACTIVATION", "dtype": "U8", "shape": [1]}))] {
        let Some(all) = of[member].as_array_mut() else { continue };
        more["id"] = json!(all.len());
        all.push(more);
    }),
    ("waits of tasks of their own", waits_apart),
];

/// Has a task before each one that waits, which waits in its place.
fn waits_apart(document: &mut Value) {
    let mut counters = document["counters"].as_array().map_or(0, Vec::len);
    tasks_with(document, |task, all| {
        if task["waits"].as_array().is_some_and(|waits| !waits.is_empty()) {
            let mut gate = json!({"op": "NOP", "inputs": [], "outputs": [], "out_counter": counters, "sm": task["sm"], "label": ""});
            gate["waits"] =
                std::mem::replace(&mut task["waits"], json!([{"counter": counters, "threshold": 1}]));
            all.push(gate);
            counters += 1;
        }
    });
    document["counters"] = (0..counters).map(|id| json!({"id": id})).collect();
}

/// Makes the tasks anew: before each one comes what this pushes.
fn tasks_with(document: &mut Value, mut before: impl FnMut(&mut Value, &mut Vec<Value>)) {
    let Some(tasks) = document["tasks"].as_array_mut() else { return };
    let mut all = Vec::new();
    for mut task in std::mem::take(tasks) {
        before(&mut task, &mut all);
        all.push(task);
    }
    all.iter_mut().enumerate().for_each(|(id, task)| task["id"] = json!(id));
    *tasks = all;
}

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

/// Checks that no change is noticed, and that each is one in many of these documents.
fn assert_not_minded<T>(changes: &[Change], all: &[(Value, T)], differs: impl Fn(&Value, &T) -> bool) {
    for (name, change) in changes {
        let is_one = |document: &&(Value, T)| {
            let mut changed = document.0.clone();
            change(&mut changed);
            changed != document.0
        };
        assert!(all.iter().filter(is_one).count() > 1, "{name} changes little");
    }
    let minded = noticed(changes, all, usize::MAX, differs);
    assert!(minded.values().all(|count| *count == 0), "{minded:#?}");
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
    let misread = MISREAD.iter().map(|&fault| (fault, misread(fault).expect("a fault that misreads")));
    let changes: Vec<Change> = TO_SCHEDULE.iter().copied().chain(misread).collect();
    let counts = noticed(&changes, &all, REQUIRED, |schedule, of| of.differs(schedule));
    assert_noticed(&counts, &changes);
    let some: Vec<_> = all.into_iter().step_by(12).collect();
    assert_not_minded(SAME, &some, |schedule, of| of.differs(schedule));
}

#[test]
fn a_faulty_conversion_to_programs_is_noticed_and_another_right_one_is_not() {
    let all = lowered();
    assert!(all.len() > 300, "{}", all.len());
    let counts = noticed(TO_PROGRAM, &all, REQUIRED, |program, of| of.differs(program));
    assert_noticed(&counts, TO_PROGRAM);
    let has_sm = |program: &Value| {
        program["tasks"].as_array().is_some_and(|tasks| tasks.iter().any(|task| !task["sm"].is_null()))
    };
    let (with, without): (Vec<_>, Vec<_>) = all.into_iter().partition(|(program, _)| has_sm(program));
    let some: Vec<_> = with.into_iter().chain(without.into_iter().step_by(6)).collect();
    assert_not_minded(SAME_PROGRAM, &some, |program, of| of.differs(program));
}
