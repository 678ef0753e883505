//! Several rules in one document: which are judged beside each other, and which hide others (clause SCH-01).

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Library, Sink, words};
use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::{PROFILE, clean};
use crate::build::{Doc, doc};

/// A document, the rules that it breaks, and its twin, which has no warning.
fn put(sink: &mut Sink, summary: &str, expect: Value, document: &Doc, good: &Doc) -> Result<()> {
    let twin =
        clean(sink, &format!("{summary} twin"), &format!("the twin of: {summary}"), &[clause::SCH_01], good)?;
    let id = format!("{}/{}", sink.family(), words(summary));
    let text = document.text();
    let document = Document::Text(&text);
    sink.push_as("validate", id, summary, PROFILE, &[clause::SCH_01], &document, expect, Some(twin))
}

/// Every rule of the list is broken, and no other one.
fn all(rules: &[Rule]) -> Value {
    match rules {
        [rule] => json!({"verdict": "reject", "rules": [rule], "warnings": []}),
        rules => json!({"verdict": "reject", "rules": rules, "every_rule": true, "warnings": []}),
    }
}

/// Three tensors, of which `x` and `y` are given, in a storage of 16 bytes: their last and first four bytes are the same.
fn shared(x: &Value, y: &Value) -> impl Fn(&[&str]) -> Doc + use<> {
    let mut tensors = json!({"x": x, "y": y, "z": {"shape": [8]}});
    for (name, offset) in [("x", 0), ("y", 4)] {
        if let Some(tensor) = tensors.get_mut(name).and_then(Value::as_object_mut) {
            tensor.extend([
                ("shape".to_owned(), json!([8])),
                ("storage".to_owned(), json!("a")),
                ("offset".to_owned(), json!(offset)),
            ]);
        }
    }
    move |tasks| doc(tasks).tensors(tensors.clone()).with("storages", json!({"a": {"bytes": 16}}))
}

/// Rules beside each other.
#[rustfmt::skip] // tables
pub fn together(_: &Library, sink: &mut Sink) -> Result<()> {
    let (never, once) = (json!({}), json!({"init": "once"}));
    // What was never written is no longer there either, and one finding is enough.
    let bytes = shared(&never, &never);
    for (summary, bad, good) in [
        ("another value was written, and this one never", [">y | <x[4,8]"], [">x | <x[4,8]"]),
        ("another value was written, and this one in part", [">x[0,6] | >y[0,2] | <x[6,8]"], [">x[0,6] | >y[4,8] | <x[2,6]"]),
        ("another value was written before an addition", [">y | +x[4,8]"], [">x | +x[4,8]"]),
    ] {
        put(sink, summary, all(&[Rule::ER05]), &bytes(&bad), &bytes(&good))?;
    }
    let two = [">y !e", "?e <x[5,6]"];
    put(sink, "another value was written by another task", all(&[Rule::ER05]), &bytes(&two), &bytes(&[">x !e", "?e <x[5,6]"]))?;
    let bytes = shared(&once, &json!({"init": true}));
    for (summary, bad, good) in [
        ("filled once, changed, and another value lies there", ["<x | >x | >y"], [">x | <x | >y"]),
        ("filled once, added to where another value was", [">y | +x"], [">x | +x | >y"]),
        ("filled once, read behind another value, and written", [">y | <x[4,8] | >x"], [">y | >x | <x[4,8]"]),
    ] {
        put(sink, summary, all(&[Rule::ER06]), &bytes(&bad), &bytes(&good))?;
    }
    for (summary, bad, good) in [
        ("filled once, and another value changes it", ["<x | >y"], ["<x | >y[4,8]"]),
        ("filled once, and another value adds to it", ["<x | +y[0,4]"], ["<x | +y[4,8]"]),
        ("filled once, and its last byte is written by another value", ["<x | >y[3,4]"], ["<x[0,7] | >y[3,4]"]),
    ] {
        put(sink, summary, all(&[Rule::ER08]), &bytes(&bad), &bytes(&good))?;
    }
    // A race hides what its storage holds, and not what another one does.
    let plain = |tasks: &[&str]| doc(tasks).tensors(json!({"x": {"shape": [8]}, "y": {"shape": [8]}, "z": {"shape": [8], "init": "once"}}));
    for (summary, rules, bad, good) in [
        ("a race, and its element was never written", vec![Rule::ER01], vec!["<x", ">x"], vec!["?e <x", ">x !e"]),
        ("two additions that race, and nobody began", vec![Rule::ER04], vec!["+x@g", "+x@g"], vec![">x !e", "?e +x@g", "?e +x@h"]),
        ("a race of a sum that goes on", vec![Rule::ER03], vec!["+z", "<z"], vec![">z !e", "?e +z !f", "?f <z"]),
        ("a race, and another tensor was never written", vec![Rule::ER02, Rule::ER05], vec![">x", ">x <y"], vec![">x !e", "?e >x | <x"]),
        ("a race, and another tensor goes on", vec![Rule::ER01, Rule::ER06], vec!["<x", ">x", "+z"], vec!["?e <x", ">x !e", ">z +z"]),
        ("a race, a tensor that was never written and one that goes on", vec![Rule::ER02, Rule::ER05, Rule::ER06], vec![">x", ">x", "<y +z"], vec![">x !e", "?e >x", ">z +z"]),
    ] {
        put(sink, summary, all(&rules), &plain(&bad), &plain(&good))?;
    }
    // A deadlock, or a drift, hides races and warnings.
    let counted = |period: i64| move |tasks: &[&str]| doc(tasks).with("events", json!({"e": {"period": period}}));
    for (summary, bad, good) in [
        ("a period below the total, and a race", ["!e", "!e", "?e:2 >x", ">x"], ["!e", "!e", "?e:2 >x", ">y"]),
        ("a period below the total, and a sum that collides", ["!e", "!e", "?e:2 +x@g", "+x@g"], ["!e", "!e", "?e:2 +x@g", "+x@h"]),
        ("a period below the total, and a partial wait", ["!e >x", "!e", "?e <x", "|"], ["!e >x", "!e", "?e:2 <x", "|"]),
    ] {
        put(sink, summary, all(&[Rule::ED05]), &counted(1)(&bad), &counted(2)(&good))?;
    }
    for (summary, rule, bad, good) in [
        ("nobody signals, and nobody waits", Rule::ED01, vec!["!e", "?f"], vec!["!e", "?e"]),
        ("too much is waited for, and another event is dead", Rule::ED02, vec!["!e !f", "?e:2"], vec!["!e !f", "?e", "?f"]),
        ("a ring, and a dead event", Rule::ED03, vec!["?a !b !c", "?b !a"], vec!["!b !c", "?b", "?c"]),
        ("a race, and a redundant wait", Rule::ER02, vec!["!e >x", ">x", "?e | ?e"], vec!["!e >x", ">y", "?e |"]),
        ("a race, and the same wait twice", Rule::ER01, vec!["!e >x", "<x", "?e ?e"], vec!["!e >x", "<y", "?e"]),
        ("a tensor that was never written, and its own signal", Rule::ER03, vec!["!e | ?e +x", "<x"], vec!["!e", "?e +x", "<y"]),
    ] {
        put(sink, summary, all(&[rule]), &doc(&bad), &doc(&good))?;
    }
    // A race does not hide a dead event.
    for (summary, bad, good) in [
        ("a race, and a dead event", ["!e >x", ">x"], ["!e >x", "?e >x"]),
        ("a race of a sum, and a dead event", ["+x !e", "<x"], ["+x !e", "?e <x"]),
    ] {
        let rule = if bad[1] == "<x" { Rule::ER03 } else { Rule::ER02 };
        let expect = json!({"verdict": "reject", "rules": [rule], "warnings": [Rule::EW02]});
        put(sink, summary, expect, &doc(&bad), &doc(&good))?;
    }
    for (summary, bad, good) in [
        ("a redundant wait and a dead event", ["!e !f", "?e | ?e"], ["!e", "?e |"]),
        ("a dead event behind a redundant wait", ["!e", "?e ?e !f"], ["!e", "?e"]),
        ("its own signal is waited for, and another one is dead", ["!e | ?e !f", ""], ["!e", "?e"]),
    ] {
        let expect = json!({"verdict": "accept", "warnings": [Rule::EW01, Rule::EW02]});
        put(sink, summary, expect, &doc(&bad), &doc(&good))?;
    }
    Ok(())
}
