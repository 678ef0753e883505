//! Faults of those who check logs of runs, and of those who say which waits can go. They have the reference's answers: a log is misread
//! before, a finding is lost behind, a list of waits is another one.

use std::collections::HashSet;

use megakernel_ir::Rule;
use serde_json::{Value, json};

use super::asked::Wrong::{self, Answers, Blind, Misreads};
use super::changes as to;

/// Id, what the implementation does, and how.
pub type Fault = (&'static str, &'static str, Wrong);

fn launches(document: &mut Value) -> impl Iterator<Item = &mut Vec<Value>> {
    let launches = document.get_mut("launches").and_then(Value::as_array_mut);
    launches.into_iter().flatten().filter_map(Value::as_array_mut)
}

fn name(entry: &Value) -> &str {
    entry.get(0).and_then(Value::as_str).unwrap_or_default()
}

fn is_access(entry: &Value) -> bool {
    matches!(name(entry), "read" | "write" | "add")
}

/// Task and phase; a begin comes before all phases.
fn whose(entry: &Value) -> [i64; 2] {
    let number = |place: usize| entry.get(place).and_then(Value::as_i64).unwrap_or(-1);
    [number(1), if name(entry) == "begin" { i64::MIN } else { number(2) }]
}

/// Changes the entries of one name.
fn each(document: &mut Value, of: &'static str, change: impl Fn(&mut Value)) {
    launches(document).flatten().filter(|entry| name(entry) == of).for_each(change);
}

fn put(entry: &mut Value, place: usize, to: Value) {
    if let Some(slot) = entry.get_mut(place) {
        *slot = to;
    }
}

fn keep(document: &mut Value, is_kept: impl Fn(&Value) -> bool) {
    launches(document).for_each(|entries| entries.retain(&is_kept));
}

fn renamed(document: &mut Value, from: &'static str, to: &'static str) {
    each(document, from, |entry| put(entry, 0, json!(to)));
}

/// Changes the numbers of waits and signals.
fn numbers(document: &mut Value, of: &'static str, change: fn(i64) -> i64) {
    each(document, of, |entry| {
        if let Some(number) = entry.get(4).and_then(Value::as_i64) {
            put(entry, 4, json!(change(number)));
        }
    });
}

/// Keeps the first entry of each of these keys.
fn first_of(document: &mut Value, concerns: fn(&Value) -> bool, key: fn(&Value) -> String) {
    for entries in launches(document) {
        let mut seen = HashSet::new();
        entries.retain(|entry| !concerns(entry) || seen.insert(key(entry)));
    }
}

fn some_launches(document: &mut Value, change: fn(&mut Vec<Value>)) {
    if let Some(launches) = document.get_mut("launches").and_then(Value::as_array_mut) {
        change(launches);
    }
}

/// Changes the regions of a log that have a box.
fn boxes(document: &mut Value, change: fn(&mut Vec<Value>)) {
    for region in
        launches(document).flatten().filter(|entry| is_access(entry)).filter_map(|entry| entry.get_mut(4))
    {
        let of = if region.is_array() { Some(region) } else { region.get_mut("box") };
        of.and_then(Value::as_array_mut).into_iter().for_each(change);
    }
}

/// An entry of a list of waits that can go.
fn entry(wait: &str, implied: bool) -> Value {
    json!({"wait": wait, "implied": implied})
}

fn with_implied(dropped: &mut [Value], change: fn(bool) -> bool) {
    for entry in dropped {
        let implied = entry.get("implied").and_then(Value::as_bool).unwrap_or_default();
        entry["implied"] = json!(change(implied));
    }
}

/// Of those who check logs.
#[rustfmt::skip] // a table
pub const TRACES: &[Fault] = &[
    ("trace-blind-unknown", "takes entries about parts that the schedule has not", Blind(&[Rule::ET01])),
    ("trace-blind-once", "does not ask whether each task runs once", Blind(&[Rule::ET02])),
    ("trace-blind-queue", "does not ask who ran a task", Blind(&[Rule::ET03])),
    ("trace-blind-queue-order", "does not ask in which order a queue ran", Blind(&[Rule::ET04])),
    ("trace-blind-phase-order", "does not ask in which order a task did things", Blind(&[Rule::ET05])),
    ("trace-blind-missing-wait", "does not ask whether a task waited", Blind(&[Rule::ET06])),
    ("trace-blind-wait", "takes waits that the schedule has not", Blind(&[Rule::ET07])),
    ("trace-blind-access", "takes accesses that the schedule has not", Blind(&[Rule::ET08])),
    ("trace-blind-write", "does not ask whether a task wrote", Blind(&[Rule::ET09])),
    ("trace-blind-missing-signal", "does not ask whether a task signalled", Blind(&[Rule::ET10])),
    ("trace-blind-signal", "takes signals that the schedule has not", Blind(&[Rule::ET11])),
    ("trace-blind-unseen", "takes counts that nobody raised an event to", Blind(&[Rule::ET12])),
    ("trace-ends", "does not look at what is missing when a launch ends", Blind(&[Rule::ET06, Rule::ET09, Rule::ET10])),
    ("trace-footprints", "does not look at memory", Blind(&[Rule::ET08, Rule::ET09])),
    ("trace-first-launch", "reads the first launch alone", Misreads(|of| some_launches(of, |all| all.truncate(1)))),
    ("trace-last-launch", "reads the last launch alone", Misreads(|of| some_launches(of, |all| { all.drain(..all.len().saturating_sub(1)); }))),
    ("trace-one-launch", "takes all launches for one", Misreads(|of| some_launches(of, |all| *all = vec![all.drain(..).flat_map(|launch| launch.as_array().cloned().unwrap_or_default()).collect()]))),
    ("trace-by-task", "reads a task after the other", Misreads(|of| launches(of).for_each(|entries| entries.sort_by_key(|entry| whose(entry)[0])))),
    ("trace-by-phase", "puts the phases of a task into their order", Misreads(|of| launches(of).for_each(|entries| entries.sort_by_key(whose)))),
    ("trace-backwards", "reads a log from its end", Misreads(|of| launches(of).for_each(|entries| entries.reverse()))),
    ("trace-last-entry", "leaves out the last entry of a launch", Misreads(|of| launches(of).for_each(|entries| { entries.pop(); }))),
    ("trace-first-entry", "leaves out the first entry of a launch", Misreads(|of| launches(of).for_each(|entries| { entries.drain(..entries.len().min(1)); }))),
    ("trace-each-once", "takes entries that say the same for one", Misreads(|of| first_of(of, |_| true, Value::to_string))),
    ("trace-first-begin", "takes the first begin of a task alone", Misreads(|of| first_of(of, |entry| name(entry) == "begin", |entry| whose(entry)[0].to_string()))),
    ("trace-first-access", "takes the first access of a phase alone", Misreads(|of| first_of(of, is_access, |entry| format!("{:?}", whose(entry))))),
    ("trace-first-signal", "takes the first signal of a phase alone", Misreads(|of| first_of(of, |entry| name(entry) == "signal", |entry| format!("{:?}", whose(entry))))),
    ("trace-first-wait", "takes the first wait of a phase alone", Misreads(|of| first_of(of, |entry| name(entry) == "wait", |entry| format!("{:?}", whose(entry))))),
    ("trace-no-reads", "leaves out reads of the log", Misreads(|of| keep(of, |entry| name(entry) != "read"))),
    ("trace-no-writes", "leaves out writes of the log", Misreads(|of| keep(of, |entry| name(entry) != "write"))),
    ("trace-no-adds", "leaves out additions of the log", Misreads(|of| keep(of, |entry| name(entry) != "add"))),
    ("trace-no-waits", "leaves out waits of the log", Misreads(|of| keep(of, |entry| name(entry) != "wait"))),
    ("trace-no-signals", "leaves out signals of the log", Misreads(|of| keep(of, |entry| name(entry) != "signal"))),
    ("trace-adds-are-writes", "takes additions of the log for writes", Misreads(|of| renamed(of, "add", "write"))),
    ("trace-writes-are-adds", "takes writes of the log for additions", Misreads(|of| renamed(of, "write", "add"))),
    ("trace-reads-are-writes", "takes reads of the log for writes", Misreads(|of| renamed(of, "read", "write"))),
    ("trace-writes-are-reads", "takes writes of the log for reads", Misreads(|of| renamed(of, "write", "read"))),
    ("trace-waits-are-signals", "takes waits of the log for signals", Misreads(|of| renamed(of, "wait", "signal"))),
    ("trace-seen-one", "takes each count that was seen for 1", Misreads(|of| numbers(of, "wait", |_| 1))),
    ("trace-seen-less", "takes counts that were seen for one less", Misreads(|of| numbers(of, "wait", |count| count.saturating_sub(1).max(0)))),
    ("trace-seen-more", "takes counts that were seen for one more", Misreads(|of| numbers(of, "wait", |count| count.saturating_add(1)))),
    ("trace-raised-one", "takes each signal of the log for 1", Misreads(|of| numbers(of, "signal", |_| 1))),
    ("trace-raised-more", "takes signals of the log for one more", Misreads(|of| numbers(of, "signal", |amount| amount.saturating_add(1)))),
    ("trace-no-queues", "reads no queue in the log", Misreads(|of| each(of, "begin", |entry| put(entry, 2, Value::Null)))),
    ("trace-free-is-zero", "takes null for queue 0", Misreads(|of| each(of, "begin", |entry| if entry.get(2).is_some_and(Value::is_null) { put(entry, 2, json!(0)); }))),
    ("trace-no-sign", "reads queues without their sign", Misreads(|of| each(of, "begin", |entry| if let Some(queue) = entry.get(2).and_then(Value::as_i64) { put(entry, 2, json!(queue.unsigned_abs())); }))),
    ("trace-first-phase", "takes all entries for those of the first phase", Misreads(|of| launches(of).flatten().filter(|entry| name(entry) != "begin").for_each(|entry| put(entry, 2, json!(0))))),
    ("trace-no-regions", "takes each region of the log for all of its tensor", Misreads(|of| launches(of).flatten().filter(|entry| is_access(entry)).for_each(|entry| put(entry, 4, Value::Null)))),
    ("trace-no-runs", "leaves out copies in the log", Misreads(|of| launches(of).flatten().filter(|entry| is_access(entry)).filter_map(|entry| entry.get_mut(4)?.as_object_mut()).for_each(|region| { region.remove("runs"); }))),
    ("trace-closed", "leaves out the last element of an interval of the log", Misreads(|of| boxes(of, |bounds| for interval in bounds { if let Some(end) = interval.get(1).and_then(Value::as_i64) { put(interval, 1, json!(end.saturating_sub(1))); } }))),
    ("trace-from-zero", "takes every interval of the log from 0 on", Misreads(|of| boxes(of, |bounds| for interval in bounds { put(interval, 0, json!(0)); }))),
    ("trace-amounts-one", "takes each signal of the schedule for 1", Misreads(to::amounts_are_one)),
    ("trace-counts-one", "takes each wait of the schedule for 1", Misreads(to::counts_are_one)),
    ("trace-counts-more", "takes waits of the schedule for one more", Misreads(to::counts_and_one)),
    ("trace-declared-first-wait", "takes the first wait of a phase of the schedule alone", Misreads(to::first_wait_alone)),
    ("trace-declared-first-signal", "takes the first signal of a phase of the schedule alone", Misreads(to::first_signal_alone)),
    ("trace-declared-first-access", "takes the first entry of each list of accesses of the schedule alone", Misreads(to::first_access_alone)),
    ("trace-declared-all", "takes each region of the schedule for all of its tensor", Misreads(to::all_of_it)),
    ("trace-no-periods", "takes all events for set back", Misreads(to::no_periods)),
    ("trace-in-order", "takes all queues for in order", Misreads(to::queues_in_order)),
    ("trace-any-order", "takes all queues for in any order", Misreads(to::queues_in_any_order)),
    ("trace-no-views", "takes views for tensors of their own", Misreads(to::no_views)),
    ("trace-no-storages", "gives each tensor its own memory", Misreads(to::no_storages)),
    ("trace-unfilled", "takes nothing for filled", Misreads(to::nothing_is_filled)),
    ("trace-filled", "takes everything for filled for each launch", Misreads(to::all_is_filled)),
    ("trace-no-shift", "does not move regions of repeated tasks", Misreads(to::no_shift)),
    ("trace-no-queue-step", "puts all repetitions into one queue", Misreads(to::no_queue_step)),
    ("trace-no-modulo", "does not take queues of repetitions modulo a number", Misreads(to::no_queues_of_repetition)),
    ("trace-no-numbers", "puts no numbers into the names of events", Misreads(to::events_without_numbers)),
];

/// Of those who say which waits can go.
#[rustfmt::skip] // a table
pub const MINIMUM: &[Fault] = &[
    ("minimum-none", "drops no wait", Answers(|dropped, _| dropped.clear())),
    ("minimum-all", "drops all waits", Answers(|dropped, all| *dropped = all.iter().map(|wait| entry(wait, false)).collect())),
    ("minimum-first", "drops one wait at most", Answers(|dropped, _| dropped.truncate(1))),
    ("minimum-not-last", "keeps the last wait that can go", Answers(|dropped, _| { dropped.pop(); })),
    ("minimum-not-first", "keeps the first wait that can go", Answers(|dropped, _| { dropped.drain(..dropped.len().min(1)); })),
    ("minimum-one-more", "drops one wait too many", Answers(|dropped, all| {
        let stays = all.iter().find(|wait| !dropped.iter().any(|entry| entry["wait"] == json!(wait)));
        dropped.extend(stays.map(|wait| entry(wait, false)));
    })),
    ("minimum-implied-alone", "keeps what nothing implies", Answers(|dropped, _| dropped.retain(|entry| entry["implied"] == json!(true)))),
    ("minimum-not-implied", "keeps what is implied", Answers(|dropped, _| dropped.retain(|entry| entry["implied"] == json!(false)))),
    ("minimum-all-implied", "takes all that can go for implied", Answers(|dropped, _| with_implied(dropped, |_| true))),
    ("minimum-none-implied", "takes nothing for implied", Answers(|dropped, _| with_implied(dropped, |_| false))),
    ("minimum-other-way", "says of what is implied that it is not, and the other way round", Answers(|dropped, _| with_implied(dropped, |implied| !implied))),
    ("minimum-first-phase", "drops waits of the first phase alone", Answers(|dropped, _| dropped.retain(|entry| entry["wait"].as_str().is_some_and(|wait| wait.contains("/phases/0/"))))),
    ("minimum-twice", "names the first wait that can go twice", Answers(|dropped, _| dropped.extend(dropped.first().cloned()))),
    ("minimum-unjudged", "takes schedules that break a rule", Blind(&[Rule::ES01, Rule::ED01, Rule::ED02, Rule::ED03, Rule::ED04, Rule::ED05, Rule::ED06, Rule::ER01, Rule::ER02, Rule::ER03, Rule::ER04, Rule::ER05, Rule::ER06, Rule::ER07, Rule::ER08])),
];
