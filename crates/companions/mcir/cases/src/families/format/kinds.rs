//! S03 to S05: each member left out, of a wrong JSON type, and of a wrong name.

use std::collections::BTreeSet;

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use serde_json::{Value, json};

use super::{Edit, Scene, breaks, member, places, push, scenes};
use crate::plant::{remove, replace};

/// Members that need not be there.
const OPTIONAL: [&str; 18] = [
    "boundaries",
    "target",
    "buffers",
    "location",
    "shared_bytes",
    "register_bytes",
    "stream",
    "state",
    "from",
    "blocks",
    "begin",
    "each",
    "end",
    "window",
    "along",
    "offset",
    "mask",
    "nodes",
];
/// Members that may be null.
const NULLABLE: [&str; 5] = ["stream", "shared_bytes", "register_bytes", "window", "mask"];
/// Members that are one of some names.
const NAMED: [&str; 8] = ["dtype", "residency", "location", "memory", "lifetime", "op", "fn", "along"];
/// Objects whose members have names of the author's.
const MAPS: [&str; 3] = ["values", "tile_shape", "blocks"];
/// Members that hold an index, or an array of them.
const INDICES: [&str; 5] = ["at", "rows", "columns", "from", "to"];

/// How deep in an index a place is: 0 for an index itself, 1 for a term, 2 for a part of a term.
pub(super) fn depth(at: &str) -> Option<usize> {
    let (name, behind) = member(at);
    if !INDICES.contains(&name) {
        return None;
    }
    if ["rows", "columns"].contains(&name) { Some(behind.len()) } else { behind.len().checked_sub(1) }
}

/// What a place has in common with others, of which one is enough: the id of a node is that of any node.
fn sort(document: &Value, at: &str) -> String {
    let is_graph = document.get("nodes").is_some();
    let mut parts: Vec<String> = Vec::new();
    let mut so_far = String::new();
    for part in at.split('/').skip(1) {
        so_far = format!("{so_far}/{part}");
        let value = document.pointer(&so_far).unwrap_or(&Value::Null);
        if let Some(op) = value.get("op").and_then(Value::as_str) {
            let rest = at.get(so_far.len()..).unwrap_or_default();
            let is_common = ["", "/id", "/op"].contains(&rest);
            let is_alike = is_graph && ["in", "out"].contains(&member(at).0);
            let op = if is_common || is_alike { "node" } else { op };
            return format!("{op}{}", rest.replace("/2", "/1").replace("/3", "/1"));
        }
        match part.parse::<usize>() {
            Ok(place) => parts.push(place.min(1).to_string()),
            Err(_) if value.get("dtype").is_some() => parts.push(value["residency"].to_string()),
            Err(_) => parts.push(part.to_owned()),
        }
    }
    parts.join("/")
}

/// What is no value for this place, and what it is called.
fn others(at: &str, value: &Value) -> Vec<(&'static str, Value)> {
    let (name, behind) = member(at);
    let mut all = match value {
        _ if depth(at).is_some_and(|depth| depth < 2) => {
            vec![("an object", json!({})), ("true", json!(true))]
        }
        _ if name == "init" => vec![("true", json!(true)), ("an array", json!([0]))],
        Value::Object(_) => vec![("an array", json!([]))],
        Value::Array(_) => vec![("an object", json!({}))],
        Value::Number(_) => vec![("a string", json!(value.to_string())), ("true", json!(true))],
        Value::Null => vec![("false", json!(false))],
        _ => vec![("a number", json!(7))],
    };
    if !NULLABLE.contains(&name) || !behind.is_empty() {
        all.push(("null", Value::Null));
    }
    all
}

/// Whether an object needs a member.
fn is_required(of: &Value, at: &str, name: &str, is_graph: bool) -> bool {
    match name {
        "residency" => !at.is_empty(),
        "in" | "out" => is_graph,
        "by" => of["op"] != "attention",
        _ => !OPTIONAL.contains(&name),
    }
}

fn edits(scene: &Scene) -> Vec<Edit> {
    let document = &scene.document;
    let is_graph = document.get("nodes").is_some();
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for (at, value) in places(document) {
        let (name, behind) = member(&at);
        let is_map = MAPS.contains(&name) && behind.is_empty();
        for of in value.as_object().filter(|_| !is_map).into_iter().flatten().map(|(of, _)| of) {
            let place = format!("{at}/{of}");
            if is_required(value, &at, of, is_graph)
                && seen.insert(format!("without {}", sort(document, &place)))
            {
                found.push(breaks(format!("nothing at {place}"), "S03", &at, vec![remove(place)]));
            }
        }
        if at.is_empty() || !seen.insert(sort(document, &at)) {
            continue;
        }
        for (other, wrong) in others(&at, value) {
            found.push(breaks(format!("{other} at {at}"), "S04", &at, vec![replace(&at, wrong)]));
        }
        if let Some(word) = value.as_str().filter(|_| NAMED.contains(&name) && behind.is_empty()) {
            let swapped = if word.to_lowercase() == word { word.to_uppercase() } else { word.to_lowercase() };
            for (kind, other) in [("no name", "none".to_owned()), ("the other case", swapped)] {
                found.push(breaks(format!("{kind} at {at}"), "S05", &at, vec![replace(&at, other)]));
            }
        }
        if name == "init" && value.is_string() {
            for (kind, other) in [("no number", "none"), ("the other case", "-INF"), ("a sign", "+inf")] {
                found.push(breaks(format!("{kind} at {at}"), "S05", &at, vec![replace(&at, other)]));
            }
        }
    }
    found
}

/// Indices whose terms have too few or too many parts, or wrong ones.
fn parts(at: &str) -> Vec<Edit> {
    let wrong = |name: &str, behind: &str, index: Value| {
        breaks(name, "S04", format!("{at}{behind}"), vec![replace(at, index)])
    };
    vec![
        wrong("a term of null alone", "/0", json!([null])),
        wrong("a second term of null", "/1", json!(["i", null])),
        wrong("a term that is true", "/0", json!([true])),
        wrong("a second term that is false", "/1", json!([0, false])),
        wrong("a term that is an object", "/0", json!([{}])),
        wrong("a term of one half", "/1", json!(["i", 0.5])),
        wrong("an empty term", "/0", json!([[]])),
        wrong("a term of one number", "/0", json!([[2]])),
        wrong("a term of one name", "/1", json!([0, ["i"]])),
        wrong("a term of two numbers", "/0/1", json!([[2, 2]])),
        wrong("a term without a coefficient", "/0/0", json!([[null, "i"]])),
        wrong("a coefficient that is true", "/0/0", json!([[true, "i"]])),
        wrong("a coefficient in quotes", "/1/0", json!(["i", ["1", "i"]])),
        wrong("a coefficient of one half", "/0/0", json!([[0.5, "i"]])),
        wrong("an axis of null", "/1/1", json!([0, [1, null]])),
    ]
}

/// S03 to S05.
pub fn kinds(_: &Library, sink: &mut Sink) -> Result<()> {
    let every = scenes::every()?;
    let mut all = edits(&every);
    all.extend(parts("/regions/0/streaming/tile/begin/0/at/0"));
    push(sink, &every, &all)?;
    let graph = scenes::graph()?;
    push(sink, &graph, &edits(&graph))
}
