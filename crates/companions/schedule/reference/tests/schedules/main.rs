//! Schedules of two public systems, judged as `fixtures/README.md` and the companion's README say.

#![allow(clippy::panic, reason = "a helper of a test fails the test")]

mod conversions;
mod effect;
mod mistakes;
mod mutations;
mod planted;
mod replays;

use std::collections::BTreeMap;
use std::path::PathBuf;

use megakernel_ir::{Diagnostic, Rule, read_value};
use megakernel_schedule::{NameId, Schedule, read, read_text};
use megakernel_schedule_reference::{Missing, repair, validate};
use megakernel_test_support::{files, root};
use serde_json::{Value, json};

fn fixture(name: &str) -> Value {
    files::json(&root().join("fixtures/schedules").join(format!("{name}.json")))
}

/// How often each rule that rejects is broken.
fn broken(document: &Value) -> BTreeMap<&'static str, u64> {
    let verdict = validate(document.to_string().as_bytes());
    let mut counts = BTreeMap::new();
    for found in verdict.diagnostics.iter().filter(|found| found.is_error()) {
        *counts.entry(found.rule.id()).or_default() += 1;
    }
    for (rule, more) in verdict.suppressed {
        counts.entry(rule.id()).and_modify(|count| *count += more);
    }
    counts
}

/// The tasks of a schedule in which this holds for the name.
fn tasks(document: &Value, is_one: impl Fn(&str) -> bool) -> Vec<usize> {
    let tasks = document["tasks"].as_array().expect("tasks");
    let named = |task: &Value| task["name"].as_str().is_some_and(&is_one);
    (0..tasks.len()).filter(|&index| named(&tasks[index])).collect()
}

#[test]
fn a_layer_that_waits_for_all_quarters_is_safe() {
    assert_eq!(broken(&fixture("hazy_llama1b_1l_full_wait")), BTreeMap::new());
}

/// The down projection waits for its own quarter of the up and gate blocks. In each quarter four instructions have no block, so
/// that their read of the residual stream is not ordered before the 128 additions of that quarter.
#[test]
fn a_layer_that_waits_as_its_kernels_do_races() {
    let document = fixture("hazy_llama1b_1l_as_kernels_wait");
    assert_eq!(broken(&document), BTreeMap::from([("ER03", 4 * 4 * 128)]));
    let verdict = validate(document.to_string().as_bytes());
    let readers = tasks(&document, |name| name.contains(" op5 "));
    let adders = tasks(&document, |name| name.contains(" op6 "));
    let mut pairs = 0;
    for found in verdict.diagnostics.iter().filter(|found: &&Diagnostic| found.rule == Rule::ER03) {
        let [reader, adder] = found.tasks[..] else { panic!("{found:?}") };
        assert!(readers.contains(&reader.index()) && adders.contains(&adder.index()), "{found:?}");
        assert!(found.witness.is_some(), "{found:?}");
        pairs += 1;
    }
    assert_eq!(pairs, 100, "the rest is counted");
}

#[test]
fn the_missing_waits_mend_it() {
    let mut document = fixture("hazy_llama1b_1l_as_kernels_wait");
    for index in tasks(&document, |name| name.contains(" op6 ")) {
        let waits = &mut document["tasks"][index]["phases"][0]["waits"];
        *waits = (0..4).map(|quarter| json!([format!("Bar[0][4][{quarter}]"), 128])).collect();
    }
    assert_eq!(broken(&document), BTreeMap::new());
}

/// In each quarter the readers without a block have blocks in all the others: a wait for one other quarter is enough, and any of them
/// would do, so that with the wait for its own quarter a task names them all.
#[test]
fn the_suggested_repair_is_a_wait_for_the_other_quarters() {
    let mut document = fixture("hazy_llama1b_1l_as_kernels_wait");
    let missing = repaired(&document);
    let adders = tasks(&document, |name| name.contains(" op6 "));
    assert!(!missing.is_empty());
    for wait in &missing {
        assert!(adders.contains(&wait.task), "{wait:?}");
        let own = document["tasks"][wait.task]["phases"][0]["waits"][0][0].as_str().expect("its own quarter");
        let mut quarters: Vec<&str> =
            wait.instead.iter().map(String::as_str).chain([own, &wait.event]).collect();
        quarters.sort_unstable();
        assert_eq!(quarters, ["Bar[0][4][0]", "Bar[0][4][1]", "Bar[0][4][2]", "Bar[0][4][3]"], "{wait:?}");
        assert_eq!(wait.count, 128);
    }
    for wait in missing {
        let waits = &mut document["tasks"][wait.task]["phases"][wait.phase]["waits"];
        if waits.is_null() {
            *waits = json!([]);
        }
        waits.as_array_mut().expect("waits").push(json!([wait.event, wait.count]));
    }
    assert_eq!(broken(&document), BTreeMap::new());
    assert_eq!(repaired(&document), []);
}

fn repaired(document: &Value) -> Vec<Missing> {
    let value = read_value(document.to_string().as_bytes()).expect("a text");
    repair(&read(&value).expect("a schedule")).expect("waits that mend it")
}

#[test]
fn waits_that_a_queue_makes_up_for_need_a_queue_that_orders() {
    assert_eq!(broken(&fixture("triton_distributed_2l_all_waits")), BTreeMap::new());
    let mut trimmed = fixture("triton_distributed_2l_trimmed_waits");
    let rules: Vec<_> = broken(&trimmed).into_keys().collect();
    assert_eq!(rules, ["ER01"]);
    trimmed["memory"] = json!({"queue": "ordered"});
    assert_eq!(broken(&trimmed), BTreeMap::new());
    // What orders it is the queues, and not that the tasks run.
    trimmed["memory"] = json!({"queue": "ordered", "signal": "relaxed"});
    assert!(!broken(&trimmed).is_empty());
}

/// Every wait of the first task of each kind matters, or something else implies it: then a warning says so.
#[test]
fn a_wait_that_is_dropped_is_missed_or_was_redundant() {
    let document = fixture("triton_distributed_2l_all_waits");
    let verdict = validate(document.to_string().as_bytes());
    assert!(verdict.diagnostics.iter().all(|found| found.rule != Rule::EW01), "no wait is redundant");
    for index in [1, 200, 400, 600, 900] {
        let mut dropped = document.clone();
        let waits = dropped["tasks"][index]["phases"][0]["waits"].as_array_mut().expect("waits");
        assert!(waits.pop().is_some(), "task {index} waits");
        assert!(!broken(&dropped).is_empty(), "task {index}");
    }
}

/// What may stand where something else is expected.
const TOKENS: [&str; 23] = [
    "null",
    "true",
    "[]",
    "{}",
    "[1]",
    "0",
    "-0",
    "01",
    "-",
    "1.",
    "1.5",
    "1e3",
    "1e999",
    "9223372036854775808",
    r#""x""#,
    r#""tasks""#,
    r#""\u0062""#,
    r#""\u0000""#,
    r#""\ud800""#,
    "\"\u{1}\"",
    "\"\n\"",
    "x",
    "",
];

/// Members that nobody knows, in objects of different depths: at the root, in a task, in a region.
fn nested(levels: usize) -> Vec<String> {
    // The value's own levels are those beyond the objects and arrays around it.
    let value = |around: usize| format!("{}{}", "[".repeat(levels - around), "]".repeat(levels - around));
    vec![
        format!(r#"{{"tensors": {{}}, "tasks": [], "more": {}}}"#, value(1)),
        format!(r#"{{"tensors": {{}}, "tasks": [{{"phases": [], "more": {}}}]}}"#, value(3)),
        format!(r#"{{"tensors": {{}}, "tasks": [], "more": [{{"}}]]": [[{}, "]"]]}}]}}"#, value(5)),
        format!(r#"{{"tensors": {{"x": {{"shape": [], "more": {{"[": {}}}}}}}, "tasks": []}}"#, value(4)),
        format!(
            r#"{{"tensors": {{}}, "tasks": [{{"phases": [{{"reads": [["x", {{"box": [], "more": {}}}]]}}]}}]}}"#,
            value(8)
        ),
    ]
}

/// Whether both readers read a text, which have to say the same of it.
fn is_read(text: &str) -> bool {
    let slow = read_value(text.as_bytes()).ok().and_then(|value| read(&value).ok());
    let quick = read_text(text);
    assert_eq!(slow.is_some(), quick.is_some(), "{text}");
    let both = slow.zip(quick).map(|(slow, quick)| assert_eq!(named(slow), named(quick), "{text}"));
    both.is_some()
}

/// Two readers say the same of each text of the corpus, of a document of each kind of fault, and of each text cut short.
#[test]
fn a_text_is_read_in_one_pass_as_it_is_as_a_value() {
    let cases = files::json_below(&root().join("corpus/cases/schedule"));
    let text = |case: PathBuf| files::json(&case)["document"]["text"].as_str().map(str::to_owned);
    let mut texts: Vec<String> = cases.into_iter().filter_map(text).collect();
    let whole = r#"{"extra": [{"a": 1}], "tensors": {"b": {"shape": [4, 2], "view": null}, "a": {"shape": [], "init": "once", "kind": "output",
        "element": 2, "offset": 1, "storage": "s"}}, "storages": {"s": {"bytes": 9}}, "events": {"e": {"period": null}, "d": {"period": 2}},
        "any_order": [3], "memory": {"queue": "ordered", "wait": "relaxed", "signal": "release"}, "tasks": [
        {"phases": [{"waits": [["e", 1]], "reads": [["b", null], ["a", []]], "writes": [["b", [[0, 1], [1, 2]]]]}, {}], "queue": -1, "name": "n\u0041",
         "repeat": {"times": 2, "queue_step": 1, "queues": null}, "source": "f.cu:1", "more": null},
        {"phases": [{"adds": [["b", {"box": [[0, 1]], "runs": [[0, 1, 2]], "shift": [1]}, "g"], ["b", null], ["b", {"box": []}, null]],
         "signals": [["e", 1], ["e", 1]]}], "queue": null, "repeat": null}]}"#;
    assert!(is_read(whole));
    texts.extend((0..=whole.len()).map(|end| whole[..end].to_owned()));
    // Each value, and each name of a member, is taken for another.
    let places: Vec<usize> =
        whole.char_indices().filter(|(_, c)| "[{,: ".contains(*c)).map(|(at, _)| at + 1).collect();
    for &at in &places {
        let rest = &whole[at..];
        let end = rest.find([',', ']', '}', ':']).unwrap_or(rest.len());
        texts.extend(TOKENS.iter().map(|token| format!("{}{token}{}", &whole[..at], &rest[end..])));
        texts.push(format!("{}{}, {rest}", &whole[..at], &rest[..end]));
    }
    // A member that stands there already, by its name and by an escape.
    for name in ["tasks", r"task\u0073"] {
        texts.push(whole.replacen('{', &format!(r#"{{"{name}": [], "#), 1));
    }
    for after in [" ", "\n\t", "x", "{}", ",", "]", "\0", "\u{a0}"] {
        texts.push(format!("{whole}{after}"));
        texts.push(format!("{after}{whole}"));
    }
    let both = texts.iter().filter(|text| is_read(text)).count();
    assert!(both > 300 && texts.len() - both > 3000, "{both} of {}", texts.len());
}

#[test]
fn both_readers_stop_at_the_same_depth() {
    for levels in [127, 128, 129, 130] {
        for text in nested(levels) {
            assert_eq!(is_read(&text), levels <= 128, "{levels}: {text}");
        }
    }
}

/// A schedule as text, with names for their numbers, which the readers give in different orders.
fn named(mut schedule: Schedule) -> String {
    let names = std::mem::take(&mut schedule.names);
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&id| &names[id]);
    let mut sorted = vec![NameId::default(); names.len()];
    order.iter().enumerate().for_each(|(place, &id)| sorted[id] = NameId::at(place));
    let of = |name: &mut NameId| *name = sorted[name.index()];
    for tensor in &mut schedule.tensors {
        of(&mut tensor.name);
        tensor.storage.iter_mut().chain(&mut tensor.view).for_each(of);
    }
    schedule.storages.iter_mut().for_each(|storage| of(&mut storage.name));
    schedule.events.iter_mut().for_each(|event| of(&mut event.name));
    for phase in schedule.tasks.iter_mut().flat_map(|task| &mut task.phases) {
        phase.waits.iter_mut().chain(&mut phase.signals).for_each(|count| of(&mut count.event));
        phase.adds.iter_mut().for_each(|add| add.group.iter_mut().for_each(of));
        let added = phase.adds.iter_mut().map(|add| &mut add.access);
        phase
            .reads
            .iter_mut()
            .chain(&mut phase.writes)
            .chain(added)
            .for_each(|access| of(&mut access.tensor));
    }
    schedule.names = order.iter().map(|&id| names[id].clone()).collect();
    format!("{schedule:?}")
}
