//! Pairs of accesses, crossed with everything that orders two phases or does not: phases, amounts, queues, launches, fences.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::{accept, clean, reject};
use crate::build::{Doc, doc};

/// How two phases stand to each other.
struct Relation {
    name: &'static str,
    summary: &'static str,
    /// Tasks; `A` and `B` stand for the two accesses.
    tasks: &'static [&'static str],
    /// Another member of the document.
    member: Option<(&'static str, &'static str)>,
    /// Task and phase of the access that stands later in the document.
    later: (usize, usize),
    is_ordered: bool,
}

const fn ordered(name: &'static str, summary: &'static str, tasks: &'static [&'static str]) -> Relation {
    Relation { name, summary, tasks, member: None, later: (tasks.len() - 1, 0), is_ordered: true }
}

const fn unordered(
    name: &'static str,
    summary: &'static str,
    tasks: &'static [&'static str],
    later: (usize, usize),
) -> Relation {
    Relation { name, summary, tasks, member: None, later, is_ordered: false }
}

const fn with(relation: Relation, name: &'static str, value: &'static str) -> Relation {
    Relation { member: Some((name, value)), ..relation }
}

const QUEUE: &str = r#"{"queue":"ordered"}"#;

const RELATIONS: &[Relation] = &[
    ordered("all", "the second waits for the first", &["A !e", "?e B"]),
    ordered("amount", "the second waits for an amount of three", &["A !e:3", "?e:3 B"]),
    ordered("needed", "the total suffices only with the first", &["A !e:2", "!e", "?e:2 B"]),
    ordered("join", "the second waits for the amounts of two", &["A !e", "!e:2", "?e:3 B"]),
    ordered("twice", "the first signals twice in a phase, and is needed", &["A !e !e", "!e", "?e:2 B"]),
    ordered("chain", "a third task stands between them", &["A !e", "?e !f", "?f B"]),
    ordered("phases", "phases of one task", &["A | B"]),
    ordered("signal-later", "the first signals in a later phase", &["A | !e", "?e B"]),
    ordered("wait-earlier", "the second has waited in an earlier phase", &["A !e", "?e | B"]),
    with(
        ordered("epoch", "an event that counts over launches", &["A !e", "?e B"]),
        "events",
        r#"{"e":{"period":1}}"#,
    ),
    with(ordered("queue", "one queue that orders memory", &["q0: A", "q0: B"]), "memory", QUEUE),
    with(
        ordered("queue-far", "another task between them in the queue", &["q0: A", "q0: |", "q0:", "q0: B"]),
        "memory",
        QUEUE,
    ),
    with(
        ordered("queue-event", "in order in a queue, and then by an event", &["q0: A", "q0: !e", "q1: ?e B"]),
        "memory",
        QUEUE,
    ),
    unordered("nothing", "nothing orders them", &["A", "B"], (1, 0)),
    unordered("partial", "the second waits for one of two", &["A !e", "!e", "?e B"], (2, 0)),
    unordered("unneeded", "the total suffices without the first", &["A !e", "!e:2", "?e:2 B"], (2, 0)),
    unordered("two-of-three", "the second waits for two of three", &["A !e", "!e", "!e", "?e:2 B"], (3, 0)),
    unordered("signal-early", "the first signals before it accesses", &["!e | A", "?e B"], (1, 0)),
    unordered("wait-late", "the second waits after it has accessed", &["A !e", "B | ?e"], (1, 0)),
    unordered("siblings", "both wait for a third", &["!e", "?e A", "?e B"], (2, 0)),
    unordered("other-event", "the second waits for another event", &["A !e", "!f", "?f B", "?e"], (2, 0)),
    unordered("queue-plain", "one queue, which orders no memory", &["q0: A", "q0: B"], (1, 0)),
    with(unordered("queues", "two queues that order memory", &["q0: A", "q1: B"], (1, 0)), "memory", QUEUE),
    with(unordered("no-queue", "no queue, where queues order memory", &["A", "B"], (1, 0)), "memory", QUEUE),
    with(
        unordered("signal-relaxed", "the signal releases nothing", &["A !e", "?e B"], (1, 0)),
        "memory",
        r#"{"signal":"relaxed"}"#,
    ),
    with(
        unordered("wait-relaxed", "the wait acquires nothing", &["A !e", "?e B"], (1, 0)),
        "memory",
        r#"{"wait":"relaxed"}"#,
    ),
    unordered(
        "halves",
        "both phases of the first together are needed, and neither alone (SCH-12)",
        &["A !e | !e", "!e", "?e:2 B"],
        (2, 0),
    ),
    unordered("again", "what signals the rest comes after the second (SCH-12)", &["A !e", "?e B !e"], (1, 0)),
];

/// Two accesses, and the rule that they break if nothing orders them.
const PAIRS: &[(&str, &str, &str, Option<Rule>)] = &[
    ("read-write", "<x", ">x", Some(Rule::ER01)),
    ("write-read", ">x", "<x", Some(Rule::ER01)),
    ("write-write", ">x", ">x", Some(Rule::ER02)),
    ("read-add", "<x", "+x", Some(Rule::ER03)),
    ("add-read", "+x", "<x", Some(Rule::ER03)),
    ("write-add", ">x", "+x@g", Some(Rule::ER03)),
    ("add-write", "+x@g", ">x", Some(Rule::ER03)),
    ("add-add-one-group", "+x@g", "+x@g", Some(Rule::ER04)),
    ("add-add-two-groups", "+x@g", "+x@h", None),
    ("add-add-no-group", "+x", "+x", None),
    ("add-add-half-group", "+x@g", "+x", None),
    ("read-read", "<x", "<x", None),
];

fn made(relation: &Relation, [first, second]: [&str; 2]) -> Doc {
    let tasks: Vec<String> =
        relation.tasks.iter().map(|task| task.replace('A', first).replace('B', second)).collect();
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let document = doc(&tasks);
    match relation.member {
        Some((name, value)) => document.with(name, serde_json::from_str(value).unwrap_or(Value::Null)),
        None => document,
    }
}

/// The list that an access of this mark stands in.
fn list(access: &str) -> &'static str {
    match access.get(..1) {
        Some("<") => "reads",
        Some(">") => "writes",
        _ => "adds",
    }
}

/// Every pair in every relation.
pub fn crossings(_: &Library, sink: &mut Sink) -> Result<()> {
    let family = sink.family().to_owned();
    for (name, first, second, rule) in PAIRS {
        for relation in RELATIONS {
            let document = made(relation, [first, second]);
            let id = format!("{name} {}", relation.name);
            let summary = format!("{}: {}", name.replace('-', " "), relation.summary);
            match rule {
                Some(rule) if !relation.is_ordered => {
                    let (task, phase) = relation.later;
                    let at = format!("/tasks/{task}/phases/{phase}/{}/0", list(second));
                    let twin = format!("{family}/{name}-all");
                    reject(sink, &id, &summary, (*rule, Some(&at)), &document, &twin)?;
                }
                _ => {
                    let about = if relation.is_ordered { clause::SCH_08 } else { clause::SCH_10 };
                    let more = match relation.member {
                        Some(("events", _)) => clause::SCH_11,
                        Some(_) => clause::SCH_06,
                        None if relation.name == "halves" => clause::SCH_12,
                        None => clause::SCH_03,
                    };
                    let put = if relation.name == "all" { clean } else { accept };
                    put(sink, &id, &summary, &[about, more], &document)?;
                }
            }
        }
    }
    Ok(())
}

/// Two values in the same bytes.
pub fn reuse(_: &Library, sink: &mut Sink) -> Result<()> {
    let at = |offset: i64| {
        let tensor = |offset: i64| json!({"shape": [8], "init": true, "storage": "arena", "offset": offset});
        json!({"x": tensor(0), "y": tensor(offset)})
    };
    let family = sink.family().to_owned();
    let storages = || json!({"arena": {"bytes": 64}});
    // Whether the second finds its own value where the first comes before it.
    for (name, first, second, is_whole) in [
        ("read-write", "<x", ">y", true),
        ("write-write", ">x", ">y", true),
        ("read-add", "<x", "+y", true),
        ("add-write", "+x", ">y", true),
        ("write-read", ">x", "<y", false),
        ("add-add", "+x", "+y", false),
    ] {
        for relation in RELATIONS.iter().filter(|relation| relation.name == "nothing") {
            let apart = made(relation, [first, second]).tensors(at(8)).with("storages", storages());
            let summary = format!("{}: beside each other in one storage, unordered", name.replace('-', " "));
            clean(sink, &format!("{name} apart"), &summary, &[clause::SCH_02], &apart)?;
        }
        for relation in RELATIONS {
            let document = made(relation, [first, second]).tensors(at(5)).with("storages", storages());
            let id = format!("{name} {}", relation.name);
            let summary =
                format!("{} of two values that share bytes: {}", name.replace('-', " "), relation.summary);
            if relation.is_ordered && is_whole {
                accept(sink, &id, &summary, &[clause::SCH_02, clause::SCH_08], &document)?;
            } else {
                let rule = if relation.is_ordered { Rule::ER08 } else { Rule::ER07 };
                let twin = format!("{family}/{name}-apart");
                reject(sink, &id, &summary, (rule, None), &document, &twin)?;
            }
        }
    }
    let alone = doc(&["<x", "<y"]).tensors(at(5)).with("storages", storages());
    accept(
        sink,
        "read-read",
        "two values that share bytes are read, and never changed",
        &[clause::SCH_10],
        &alone,
    )?;
    Ok(())
}
