//! Which waits can go (clause SCH-14).

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Library, Sink, words};
use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::PROFILE;
use crate::build::{Doc, doc};

fn put(sink: &mut Sink, summary: &str, expect: Value, doc: &Doc, twin: Option<String>) -> Result<String> {
    let id = format!("{}/{}", sink.family(), words(summary));
    let text = doc.text();
    let document = Document::Text(&text);
    sink.push_as("minimise", id.clone(), summary, PROFILE, &[clause::SCH_14], &document, expect, twin)?;
    Ok(id)
}

/// A document of which one answer alone is right: these waits go, each with whether it is implied.
fn only(sink: &mut Sink, summary: &str, doc: &Doc, dropped: &[(&str, bool)]) -> Result<String> {
    let entry =
        |(wait, implied): &(&str, bool)| json!({"wait": format!("/tasks/{wait}"), "implied": implied});
    let dropped: Value = dropped.iter().map(entry).collect();
    put(sink, summary, json!({"verdict": "accept", "document": {"dropped": dropped}}), doc, None)
}

/// What goes, by the pointers behind `/tasks/`.
type Row<'r> = (&'r str, &'r [&'r str], &'r [(&'r str, bool)]);

/// Answers of which one alone is right, others, and rejections.
#[rustfmt::skip] // tables
pub fn minimum(_: &Library, sink: &mut Sink) -> Result<()> {
    let rows: &[Row<'_>] = &[
        ("nothing can go", &[">x !e", "?e <x"], &[]),
        ("there is no wait", &[">x | <x"], &[]),
        ("nobody touches anything", &["!e", "?e"], &[("1/phases/0/waits/0", false)]),
        ("both read", &["<x !e", "?e <x"], &[("1/phases/0/waits/0", false)]),
        ("parts that do not overlap", &[">x[0,4] !e", "?e <x[4,8]"], &[("1/phases/0/waits/0", false)]),
        ("parts that share an element", &[">x[0,5] !e", "?e <x[4,8]"], &[]),
        ("a read before a write", &["<x !e", "?e >x"], &[]),
        ("two writes", &[">x !e", "?e >x"], &[]),
        ("additions that commute", &["+x !e", "?e +x"], &[("1/phases/0/waits/0", false)]),
        ("additions of one group", &["+x@g !e", "?e +x@g"], &[]),
        ("a sum of two, and who reads it", &["+x !e", "+x !e", "?e:2 <x"], &[]),
        ("a later phase waits for the same", &[">x !e", "?e <x | ?e <x"], &[("1/phases/1/waits/0", true)]),
        ("a chain", &[">x !e", "?e <x >y !f", "?f <y"], &[]),
        ("a chain, and a wait across it", &[">x !e", "?e <x >y !f", "?f ?e <x <y"], &[("2/phases/0/waits/1", true)]),
        ("a diamond", &[">x !a", "?a <x >y !b", "?a <x >z !c", "?b ?c <y <z <x"], &[]),
        ("a diamond, and a wait across it", &[">x !a", "?a <x >y !b", "?a <x >z !c", "?b ?a ?c <y <z <x"], &[("3/phases/0/waits/1", true)]),
        ("the lower of two counts", &[">x !e", ">y !e", "?e ?e:2 <x <y"], &[("2/phases/0/waits/0", true)]),
        ("a partial wait that orders nothing", &[">x !e", ">y !e", "?e >z"], &[("2/phases/0/waits/0", false)]),
        ("what it signalled itself", &[">x !e | ?e <x"], &[("0/phases/1/waits/0", true)]),
        ("two producers, of which one matters", &[">x !e", ">y !f", "?e ?f <x"], &[("2/phases/0/waits/1", false)]),
        ("a barrier that one of three needs", &[">x !b", "<y !b", "<z !b", "?b:3 <x"], &[]),
        ("a barrier of tasks that only read", &["<x !b", "<y !b", "<z !b", "?b:3 <x"], &[("3/phases/0/waits/0", false)]),
        ("hand over and back", &[">x !a | ?b >x !c | ?d", "?a <x !b | ?c <x !d"], &[("0/phases/2/waits/0", false)]),
        ("a queue that orders no memory", &["q0: >x !e", "q0: ?e <x"], &[]),
    ];
    for (summary, tasks, dropped) in rows {
        only(sink, summary, &doc(tasks), dropped)?;
    }
    let ordered = |tasks: &[&str]| doc(tasks).with("memory", json!({"queue": "ordered"}));
    only(sink, "a queue that orders memory", &ordered(&["q0: >x !e", "q0: ?e <x"]), &[("1/phases/0/waits/0", true)])?;
    only(sink, "a queue that orders memory, and another one", &ordered(&["q0: >x !e", "q1: ?e <x"]), &[])?;
    only(sink, "another task of the queue has waited", &ordered(&["q1: >x !e", "q0: ?e <x", "q0: ?e <x"]), &[("2/phases/0/waits/0", true)])?;
    let relaxed = doc(&["<x !e", "?e <x | ?e <x"]).with("memory", json!({"signal": "relaxed"}));
    only(sink, "without a fence nothing is implied", &relaxed, &[("1/phases/0/waits/0", false), ("1/phases/1/waits/0", false)])?;
    let epoch = doc(&[">x !e", "?e <x", "?e <y"]).with("events", json!({"e": {"period": 1}}));
    only(sink, "an event that counts over launches", &epoch, &[("2/phases/0/waits/0", false)])?;
    let any = doc(&["q0: ?e <x", "q0: >x !e", "q0: ?e <y"]).with("any_order", json!([0]));
    only(sink, "a queue in any order", &any, &[("2/phases/0/waits/0", false)])?;
    let tensors = json!({"x": {"shape": [8], "init": true, "storage": "a"}, "y": {"shape": [8], "init": true, "storage": "a", "offset": 4}, "z": {"shape": [8]}});
    let reuse = |tasks: &[&str]| doc(tasks).tensors(tensors.clone()).with("storages", json!({"a": {"bytes": 12}}));
    only(sink, "memory that is given away", &reuse(&["<x !e", "?e >y"]), &[])?;
    only(sink, "memory beside that which is given away", &reuse(&["<x !e", "?e >y[4,8]"]), &[("1/phases/0/waits/0", false)])?;
    only(sink, "a start value", &reuse(&[">z !e", "?e +z", "?e +z[0,0]"]), &[("2/phases/0/waits/0", false)])?;
    // Waits of repeated tasks: all or none.
    let repeated = |tasks: [&str; 2], of: usize, repeat: Value| doc(&tasks).of_task(of, "repeat", repeat);
    let four = || json!({"times": 4});
    only(sink, "four tasks that read", &repeated([">x !e", "?e <x"], 1, four()), &[])?;
    only(sink, "four tasks that do not read", &repeated([">x !e", "?e <y"], 1, four()), &[("1/phases/0/waits/0", false)])?;
    let first = json!([{"waits": [["e", 1]], "reads": [["x", {"box": [[0, 2]], "shift": [2]}]]}]);
    let one = repeated([">x[0,2] !e", ""], 1, four()).of_task(1, "phases", first);
    only(sink, "of four tasks the first needs it", &one, &[])?;
    let spread = |step: i64| {
        repeated(["q0: !e", "q0: ?e"], 1, json!({"times": 2, "queue_step": step})).with("memory", json!({"queue": "ordered"}))
    };
    only(sink, "implied in both tasks", &spread(0), &[("1/phases/0/waits/0", true)])?;
    only(sink, "implied in one task of two", &spread(1), &[("1/phases/0/waits/0", false)])?;
    // More than one answer is right.
    let minimal = || json!({"verdict": "accept", "waits": "minimal"});
    let rows: &[(&str, &[&str])] = &[
        ("the same wait twice", &[">x !e", "?e ?e <x"]),
        ("the same wait three times", &[">x !e", "?e ?e ?e <x"]),
        ("two events of one task", &[">x !e !f", "?e ?f <x"]),
        ("three events of one task", &[">x !e !f !g", "?e ?f ?g <x"]),
        ("either of two phases", &[">x !e", "?e | ?e <x"]),
        ("either of three phases", &[">x !e", "?e | ?e | ?e <x"]),
        ("straight, or through a task that reads", &[">x !e", "?e <y !f", "?f ?e <x"]),
        ("through either of two tasks", &[">x !e", "?e !f", "?e !g", "?f ?g <x"]),
        ("through two tasks, and straight", &[">x !e", "?e !f", "?f !g", "?g ?e <x", "?e ?g <x"]),
        ("two counters of two tasks", &[">x !e !f", ">y !e !f", "?e:2 ?f:2 <x <y"]),
        ("a counter for each and one for all", &[">x !a !b", ">y !a !c", "?a:2 ?b ?c <x <y"]),
        ("a ladder", &[">x !a", "?a <x >y !b !c", "?a ?b <x <y >z !d", "?a ?b ?c ?d <x <y <z"]),
        ("two readers that wait for each other's producer", &[">x !a", ">y !b", "?a ?b <x", "?a ?b <y"]),
        ("a barrier behind a barrier", &[">x !a", ">y !a", "?a:2 !b", "?a:2 !b", "?b:2 ?a:2 <x <y"]),
    ];
    for (summary, tasks) in rows {
        put(sink, summary, minimal(), &doc(tasks), None)?;
    }
    put(sink, "either of two queues", minimal(), &ordered(&["q0: >x !e", "q0: !f", "q1: ?e", "q1: ?f <x"]), None)?;
    let all = doc(&[">x[0,1] !e#", "?e# ?e0"]).of_task(0, "repeat", json!({"times": 1})).of_task(1, "repeat", json!({"times": 1}));
    put(sink, "two names of one event", minimal(), &all.of_task(1, "phases", json!([{"waits": [["e#", 1], ["e0", 1]], "reads": [["x", null]]}])), None)?;
    // What is rejected is rejected here too.
    let rows: &[(&str, Rule, &[&str], &[&str])] = &[
        ("a race", Rule::ER01, &[">x !e", "<x", "?e"], &[">x !e", "?e <x"]),
        ("two writes that race", Rule::ER02, &[">x", ">x !e", "?e"], &[">x !e", "?e >x"]),
        ("a sum that is read too early", Rule::ER03, &["+x !e", "<x", "?e"], &["+x !e", "?e <x"]),
        ("nobody signals", Rule::ED01, &["?e"], &["!e", "?e"]),
        ("too much is waited for", Rule::ED02, &["!e", "?e:2"], &["!e", "?e"]),
        ("a ring", Rule::ED03, &["?a !b", "?b !a"], &["!b", "?b"]),
        ("the order of a queue", Rule::ED04, &["q0: ?a", "q0: !a"], &["q0: !a", "q0: ?a"]),
        ("a wait for nothing", Rule::ES01, &["!e", "?e:0"], &["!e", "?e"]),
        ("a tensor that is not there", Rule::ES03, &["!e", "?e <w"], &["!e", "?e <x"]),
    ];
    for (summary, rule, bad, good) in rows {
        let clean = json!({"verdict": "accept", "waits": "minimal", "warnings": []});
        let twin = put(sink, &format!("{summary} twin"), clean, &doc(good), None)?;
        put(sink, summary, json!({"verdict": "reject", "rules": [rule]}), &doc(bad), Some(twin))?;
    }
    Ok(())
}
