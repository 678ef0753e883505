//! The rules EW.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Library, Sink, words};
use megakernel_ir::rule::Rule;
use serde_json::json;

use crate::build::{Doc, doc};

/// A document that is warned of, if it has a twin, or one that is not.
fn put(sink: &mut Sink, rule: Rule, summary: &str, doc: &Doc, twin: Option<String>) -> Result<String> {
    let id = format!("{}/{}", sink.family(), words(&format!("{rule} {summary}")));
    let warnings = if twin.is_some() { vec![rule] } else { Vec::new() };
    let expect = json!({"verdict": "accept", "warnings": warnings});
    let (text, clauses) = (doc.text(), [*rule.clause()]);
    sink.push_as(
        "validate",
        id.clone(),
        summary,
        &["schedule"],
        &clauses,
        &Document::Text(&text),
        expect,
        twin,
    )?;
    Ok(id)
}

/// What is warned of: a summary, the tasks, and those of the twin.
type Row<'r> = (&'r str, &'r [&'r str], &'r [&'r str]);

fn pairs(sink: &mut Sink, rule: Rule, rows: &[Row<'_>], document: &dyn Fn(&[&str]) -> Doc) -> Result<()> {
    for (summary, warned, clean) in rows {
        let twin = put(sink, rule, &format!("{summary} twin"), &document(clean), None)?;
        put(sink, rule, summary, &document(warned), Some(twin))?;
    }
    Ok(())
}

fn ordered(tasks: &[&str]) -> Doc {
    doc(tasks).with("memory", json!({"queue": "ordered"}))
}

/// EW01 and EW02.
#[rustfmt::skip] // tables
pub fn warnings(_: &Library, sink: &mut Sink) -> Result<()> {
    pairs(sink, Rule::EW01, &[
        ("an earlier phase has waited for the same", &["!e", "?e | ?e"], &["!e", "?e |"]),
        ("an earlier phase has waited for more", &["!e:3", "?e:3 | ?e:2"], &["!e:3", "?e:3 |"]),
        ("the same wait twice", &["!e", "?e ?e"], &["!e", "?e"]),
        ("two waits for one event, the lower is implied", &["!e", "!e", "?e:2 ?e"], &["!e", "!e", "?e:2"]),
        ("another event comes after it", &["!e", "?e !f", "?e ?f"], &["!e", "?e !f", "?f"]),
        ("through two tasks", &["!e", "?e !f", "?f !g", "?g ?e"], &["!e", "?e !f", "?f !g", "?g"]),
        ("its own signal", &["!e | ?e"], &["!e", "?e"]),
        ("an amount of four, and a wait for two of it", &["!e:4 !f", "?f | ?e:2"], &["!e:4 !f", "?f", "?e:2"]),
        ("the amounts of two tasks before", &["!e:2 !f", "!e:3 !f", "?f:2 ?e:4"], &["!e:2 !f", "!e:3", "?f", "?e:4"]),
        ("of two waits for one event, the first is the lower", &["!e", "!e", "?e ?e:2"], &["!e", "!e", "?e:2"]),
        ("of two waits for one event, both suffice", &["!e", "!e", "?e:2 ?e:2"], &["!e", "!e", "?e:2"]),
        ("of three waits, the first", &["!e", "?e !f", "!g", "?e ?f ?g"], &["!e", "?e !f", "!g", "?f ?g"]),
        ("of two waits, the first, through a task", &["!e", "?e !f", "?f !g", "?e ?g"], &["!e", "?e !f", "?f !g", "?g"]),
        ("its own signals and those before", &["!e:2 !f", "?f !e | ?e:3"], &["!e:2", "!e | ?e:3"]),
        ("one of two is enough for the count", &["!e", "!e", "?e:2 !f", "?f ?e"], &["!e", "!e", "?e:2 !f", "?f"]),
        ("a join that another join holds", &["!e !a", "!e !a", "?e:2 ?a:2"], &["!e !a", "!e", "?e:2", "?a"]),
    ], &doc)?;
    pairs(sink, Rule::EW01, &[
        ("the task before it in the queue has waited", &["!e", "q0: ?e", "q0: ?e"], &["!e", "q0: ?e", "q1: ?e"]),
        ("the task before it in the queue has signalled", &["q0: !e", "q0: ?e"], &["q0: !e", "q1: ?e"]),
        ("far before it in the queue", &["q0: !e", "q0:", "q0: | |", "q0: ?e"], &["q1: !e", "q0:", "q0: | |", "q0: ?e"]),
    ], &ordered)?;
    let rows: &[(&str, &[&str])] = &[
        ("the later wait is for more", &["!e", "!e", "?e:1 !f", "?f ?e:2"]),
        ("two events of two tasks", &["!e", "!f", "?e ?f"]),
        ("only one of two comes before", &["!e !g", "!e", "?g !f", "?f ?e:2"]),
        ("the tasks are of one queue, and it orders nothing", &["q0: !e", "q0: ?e"]),
        ("a partial wait assures nothing", &["!e", "!e", "?e | ?e:2"]),
        ("another branch has waited", &["!e", "?e !f", "?e", "?f"]),
    ];
    for (summary, tasks) in rows {
        put(sink, Rule::EW01, summary, &doc(tasks), None)?;
    }
    let behind = ordered(&["!e", "q0:", "q0: ?e"]);
    put(sink, Rule::EW01, "the task before it in the queue does nothing", &behind, None)?;
    let relaxed = doc(&["!e", "?e | ?e"]).with("memory", json!({"signal": "relaxed"}));
    put(sink, Rule::EW01, "without a fence nothing assures", &relaxed, None)?;
    pairs(sink, Rule::EW02, &[
        ("nobody waits", &["!e"], &["!e", "?e"]),
        ("somebody waits for another event", &["!e !f", "?f"], &["!e !f", "?f", "?e"]),
        ("the last task of a chain signals", &["!e", "?e !f"], &["!e", "?e !f", "?f"]),
        ("an amount of eight", &["!e:8"], &["!e:8", "?e:8"]),
        ("in a second phase", &["| !e"], &["| !e", "?e"]),
        ("two tasks signal it", &["!e", "!e"], &["!e", "!e", "?e:2"]),
        ("two such events", &["!e !f"], &["!e !f", "?e", "?f"]),
        ("in a queue", &["q0: !e", "q0: |"], &["q0: !e", "q0: ?e"]),
        ("a capital", &["!e", "?e !E"], &["!e", "?e !E", "?E"]),
        ("one event of a layer", &["!a0 !a1", "?a0"], &["!a0 !a1", "?a0", "?a1"]),
    ], &doc)?;
    put(sink, Rule::EW02, "each task waits for the other", &doc(&["!e | ?f", "?e !f"]), None)?;
    Ok(())
}
