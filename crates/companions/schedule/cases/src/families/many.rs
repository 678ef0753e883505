//! More phases, waits, signals, accesses and bytes than small numbers count, and names that only look alike.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Library, Sink, words};
use megakernel_ir::rule::Rule;
use serde_json::{Value, json};

use super::pair;
use crate::build::{Doc, doc};

fn of(tasks: &[String]) -> Doc {
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    doc(&tasks)
}

/// A document of these phases, a task each.
fn phases(phases: &[Value]) -> Doc {
    let tasks: Vec<Value> = phases.iter().map(|phase| json!({"phases": [phase]})).collect();
    doc(&[]).with("tasks", json!(tasks))
}

/// So many of everything in one place.
pub fn many(_: &Library, sink: &mut Sink) -> Result<()> {
    for count in [70, 135, 300] {
        let chain = |cut: Option<usize>| {
            let one = |at: usize| match at {
                0 => ">x !e0".to_owned(),
                at if at + 1 == count => format!("?e{} <x", at - 1),
                at if cut == Some(at) => format!("!e{at}"),
                at => format!("?e{} !e{at}", at - 1),
            };
            of(&(0..count).map(one).collect::<Vec<_>>())
        };
        let summary = format!("a chain of {count} tasks, which one of them does not wait in");
        pair(sink, Rule::ER01, &summary, "", &chain(Some(count / 2)), &chain(None))?;
    }
    for (signals, writes, waits) in [(0, 64, 65), (3, 67, 100), (5, 261, 262), (1, 257, 300)] {
        let one = |at: usize, is_ordered: bool| match at {
            at if at == waits => "?a <x".to_owned(),
            at if at == writes => format!(">x{}", if is_ordered { " !a" } else { "" }),
            at if at == signals && !is_ordered => "!a".to_owned(),
            _ => "<y".to_owned(),
        };
        let all = |is_ordered| of(&(0..=waits).map(|at| one(at, is_ordered)).collect::<Vec<_>>());
        let summary = format!("task {waits} waits for task {signals}, and reads what task {writes} writes");
        pair(sink, Rule::ER01, &summary, "", &all(false), &all(true))?;
    }
    for count in [5, 9, 17, 33, 40, 65, 257] {
        let adds = |name: &str| {
            (0..count)
                .map(|at| format!("+x@g{at} !{}", name.replace('#', &at.to_string())))
                .collect::<Vec<_>>()
        };
        // Additions of other groups, in any order; one wait for each.
        let waits = |most: usize| {
            let waits: Vec<String> = (0..most).map(|at| format!("?e{at}")).collect();
            of(&[adds("e#"), vec![format!("{} <x", waits.join(" "))]].concat())
        };
        pair(sink, Rule::ER03, &format!("{count} waits but one"), "", &waits(count - 1), &waits(count))?;
        let first = (0..count).map(|at| format!("!e{at}")).collect::<Vec<_>>().join(" ");
        let readers = (0..count).map(|at| format!("?e{at} <x"));
        let signals: Vec<String> = std::iter::once(format!(">x {first}")).chain(readers).collect();
        let mut bad = signals.clone();
        if let Some(last) = bad.last_mut() {
            *last = "<x".to_owned();
        }
        let summary = format!("{count} signals, of which the last is not waited for");
        pair(sink, Rule::ER01, &summary, "", &of(&bad), &of(&signals))?;
        let reads = vec!["<y"; count].join(" ");
        let accesses = |wait: &str| of(&[format!("{reads} >x !e"), format!("{wait}<x"), "?e".to_owned()]);
        let summary = format!("{count} accesses, and one that races");
        pair(sink, Rule::ER01, &summary, "", &accesses(""), &accesses("?e "))?;
        let parts = vec!["<y"; count].join(" | ");
        let late = |wait: &str| of(&[format!("{parts} | >x !e"), format!("{wait}<x"), "?e".to_owned()]);
        let summary = format!("{count} phases, and one that races");
        pair(sink, Rule::ER01, &summary, "", &late(""), &late("?e "))?;
    }
    for rows in [257, 300, 1025] {
        let tensors = || json!({"x": {"shape": [rows, 2], "init": true}});
        let two = |row: usize| {
            doc(&[&format!(">x[0,{rows}][0,1]"), &format!("<x[{row},{}][{},{}]", row + 1, 0, 1)])
        };
        let other = |row: usize| {
            doc(&[&format!(">x[0,{rows}][0,1]"), &format!("<x[{row},{}][{},{}]", row + 1, 1, 2)])
        };
        let summary = format!("the last of {rows} rows is read in its first column");
        pair(
            sink,
            Rule::ER01,
            &summary,
            "",
            &two(rows - 1).tensors(tensors()),
            &other(rows - 1).tensors(tensors()),
        )?;
    }
    Ok(())
}

/// Amounts, offsets and bytes that 31 or 32 bits do not hold; tensors of one element without axes.
#[rustfmt::skip] // tables
pub fn large(_: &Library, sink: &mut Sink) -> Result<()> {
    const MOST: i64 = 2_147_483_647;
    for count in [2_i64, 3, 4, 5] {
        let sums = |read: &str| {
            let mut tasks: Vec<String> = (0..count).map(|_| format!("+x@g !e:{MOST}")).collect();
            tasks.iter_mut().enumerate().for_each(|(at, task)| *task = task.replace("@g", &format!("@g{at}")));
            tasks.push(format!("?e:{MOST} <{read}"));
            of(&tasks)
        };
        let summary = format!("{count} signals of 2^31 - 1, of which any one is enough");
        pair(sink, Rule::ER03, &summary, "", &sums("x"), &sums("y"))?;
    }
    for (name, offset) in [("2^32", 1_i64 << 32), ("2^33", 1 << 33), ("3 * 2^32", 3 << 32), ("2^40", 1 << 40)] {
        let lies = |offset: i64| {
            let tensor = |offset: i64| json!({"shape": [8], "storage": "s", "offset": offset, "init": true});
            doc(&[">x[0,8]", "<y[0,8]"]).tensors(json!({"x": tensor(1 << 41), "y": tensor((1 << 41) + offset)})).with("storages", json!({"s": {"bytes": 1_i64 << 42}}))
        };
        let summary = format!("two tensors at one offset, and {name} bytes apart");
        pair(sink, Rule::ER07, &summary, "", &lies(0), &lies(offset))?;
    }
    for (shape, element) in [(json!([4, 1_i64 << 30]), 4), (json!([4, 1 << 20]), 4096), (json!([2, 4, 1_i64 << 29]), 8)] {
        let tensors = json!({"x": {"shape": shape, "element": element, "init": true}});
        let axes = shape.as_array().map_or(0, Vec::len);
        let at = |row: i64| format!("{}[{row},{}][0,1]", if axes == 3 { "[0,1]" } else { "" }, row + 1);
        let rows = |one: i64, other: i64| doc(&[&format!(">x{}", at(one)), &format!("<x{}", at(other))]).tensors(tensors.clone());
        let summary = format!("rows of 4 gigabytes, with {axes} axes and elements of {element} bytes: the same one");
        pair(sink, Rule::ER01, &summary, "", &rows(2, 2), &rows(2, 3))?;
    }
    let scalar = || json!({"x": {"shape": [], "init": true}});
    for (rule, what, one, other) in [(Rule::ER01, "written and read", "writes", "reads"), (Rule::ER02, "written twice", "writes", "writes"), (Rule::ER03, "added to and read", "adds", "reads")] {
        let access = json!([["x", []]]);
        let bad = phases(&[json!({one: access}), json!({other: access})]).tensors(scalar());
        let good = phases(&[json!({one: access, "signals": [["e", 1]]}), json!({other: access, "waits": [["e", 1]]})]).tensors(scalar());
        // What is lost between two writes is no rule here.
        pair(sink, rule, &format!("a tensor without axes is {what}"), "", &bad, &good)?;
    }
    Ok(())
}

/// Names that differ in case, in how a letter is composed, or by a space.
#[rustfmt::skip] // tables
pub fn alike(_: &Library, sink: &mut Sink) -> Result<()> {
    for (what, one, other) in [("case", "e", "E"), ("case of a later letter", "ready", "readY"), ("case of a letter beyond ASCII", "\u{e9}", "\u{c9}"), ("composition", "\u{e9}", "e\u{301}"), ("composition of two", "\u{1e69}", "s\u{323}\u{307}"), ("composition of a sign", "\u{212b}", "\u{c5}"), ("a space at the end", "e", "e "), ("a space in front", "e", " e"), ("a tab at the end", "e", "e\t"), ("width", "e", "\u{ff45}"), ("a zero", "e1", "e01"), ("nothing but a zero byte", "e", "e\u{0}")] {
        let of_event = |name: &str| phases(&[json!({"writes": [["x", null]], "signals": [[name, 1]]}), json!({"reads": [["x", null]], "waits": [[one, 1]]})]);
        pair(sink, Rule::ED01, &format!("events that differ by {what}"), "", &of_event(other), &of_event(one))?;
        let of_group = |name: &str| phases(&[json!({"adds": [["x", null, one]]}), json!({"adds": [["x", null, name]]})]);
        pair(sink, Rule::ER04, &format!("groups that differ by {what}, and not"), "", &of_group(one), &of_group(other))?;
        let of_storage = |name: &str| {
            let tensor = |name: &str| json!({"shape": [8], "storage": name, "init": true});
            let storages: serde_json::Map<String, Value> = [one, other].into_iter().map(|name| (name.to_owned(), json!({"bytes": 8}))).collect();
            doc(&[">x", "<y"]).tensors(json!({"x": tensor(one), "y": tensor(name)})).with("storages", Value::Object(storages))
        };
        pair(sink, Rule::ER07, &format!("storages that differ by {what}, and not"), "", &of_storage(one), &of_storage(other))?;
    }
    Ok(())
}

/// An event that several phases of a task signal, and one that a task signals and waits for.
#[rustfmt::skip] // tables
pub fn own(_: &Library, sink: &mut Sink) -> Result<()> {
    let rows: [(&str, &[&str], &[&str]); 6] = [
        ("two phases signal, the second behind its write", &["!e | >x !e", "?e <x"], &["!e | >x !e", "?e:2 <x"]),
        ("three phases signal, the last behind its write", &["!e | !e | >x !e", "?e:2 <x"], &["!e | !e | >x !e", "?e:3 <x"]),
        ("two phases signal, the second twice as much", &["!e | >x !e:2", "?e <x"], &["!e | >x !e:2", "?e:2 <x"]),
        ("a task signals what it waits for", &["!e | ?e <x", ">x !e"], &["!e | ?e:2 <x", ">x !e"]),
        ("a task signals twice what it waits for", &["!e | !e | ?e:2 <x", ">x !e"], &["!e | !e | ?e:3 <x", ">x !e"]),
        ("a task of three phases signals what it waits for", &["!e | <y | ?e <x", ">x !e"], &["!e | <y | ?e:2 <x", ">x !e"]),
    ];
    for (summary, bad, good) in rows {
        pair(sink, Rule::ER01, summary, "", &doc(bad), &doc(good))?;
    }
    Ok(())
}

/// EW01: waits that what comes before has satisfied, of events that others signal as well.
#[rustfmt::skip] // tables
pub fn satisfied(_: &Library, sink: &mut Sink) -> Result<()> {
    let rows: [(&str, &[&str], &[&str]); 5] = [
        ("its own signal, of two that there are", &["!e | ?e <x", "!e"], &["!e | ?e:2 <x", "!e"]),
        ("its own signal of 2, of 3 that there are", &["!e:2 | ?e:2 <x", "!e"], &["!e:2 | ?e:3 <x", "!e"]),
        ("a signal of who is waited for, of two that there are", &[">x !e !a", "?a ?e <x", "!e"], &[">x !a", "?a ?e <x", "!e"]),
        ("its own signal of 2, of which 1 is waited for", &["!e:2 | ?e <x"], &["!e:2 | <x", "?e:2"]),
        ("its own signals, both of them", &["!e | !e | ?e:2 <x"], &["!e | !e | <x", "?e:2"]),
    ];
    for (summary, warned, clean) in rows {
        let name = format!("EW01 {summary}");
        let about = [*Rule::EW01.clause()];
        let twin = super::clean(sink, &format!("{name} twin"), &format!("the twin of: {summary}"), &about, &doc(clean))?;
        let id = format!("{}/{}", sink.family(), words(&name));
        let text = doc(warned).text();
        let expect = json!({"verdict": "accept", "warnings": [Rule::EW01]});
        sink.push_as("validate", id, summary, super::PROFILE, &about, &Document::Text(&text), expect, Some(twin))?;
    }
    Ok(())
}
