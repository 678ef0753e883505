//! Checkers and simulators that are wrong: what they lose of the reference's findings, and how they misread documents.

use megakernel_ir::protocol::Answer;
use megakernel_ir::rule::Severity;
use megakernel_ir::{Diagnostic, Rule};
use serde_json::{Value, json};

/// What is wrong.
pub enum Wrong {
    /// What it makes of an answer.
    Finds(fn(&Answer) -> Answer),
    /// What it makes of a document.
    Misreads(fn(&mut Value)),
}

use Wrong::{Finds, Misreads};

/// Id, what the implementation does, and how.
pub type Entry = (&'static str, &'static str, Wrong);

/// An answer without the findings of some rules.
fn without(answer: &Answer, unseen: &[Rule]) -> Answer {
    let (Answer::Accept { diagnostics, .. } | Answer::Reject { diagnostics }) = answer else {
        return answer.clone();
    };
    let left: Vec<Diagnostic> =
        diagnostics.iter().filter(|found| !unseen.contains(&found.rule)).cloned().collect();
    if left.iter().any(|found| found.severity == Severity::Error) {
        return Answer::Reject { diagnostics: left };
    }
    let document = if let Answer::Accept { document, .. } = answer { document.clone() } else { None };
    Answer::Accept { diagnostics: left, document }
}

/// An answer that takes one rule for another.
fn mistaken(answer: &Answer, broken: Rule, named: Rule) -> Answer {
    let mut answer = answer.clone();
    if let Answer::Accept { diagnostics, .. } | Answer::Reject { diagnostics } = &mut answer {
        for found in diagnostics.iter_mut().filter(|found| found.rule == broken) {
            found.rule = named;
        }
    }
    answer
}

macro_rules! blind {
    ($($id:literal $what:literal $($rule:ident)+,)+) => {
        &[$(($id, $what, Finds(|answer| without(answer, &[$(Rule::$rule),+]))),)+]
    };
}

const BLIND: &[Entry] = blind! {
    "blind-types" "takes values of any JSON type" S04,
    "blind-members" "needs no member" S03,
    "blind-names" "takes any name for a kind" S05,
    "blind-ranges" "takes any number" CS01,
    "blind-grids" "takes grids of another number of devices" CS02,
    "blind-edges" "takes queues with two senders or receivers" CS03,
    "blind-elements" "takes elements with two logs or none" CS04,
    "blind-primitives" "takes any operation" CS05,
    "blind-handles" "takes handles that nothing made" CS06,
    "blind-directions" "takes any direction" CS07,
    "blind-borders" "takes directions that lead nowhere" CS08,
    "blind-empty" "takes empty messages" CS09,
    "blind-outside" "takes addresses outside of the tile" CS10,
    "blind-operands" "takes operands that differ" CS11,
    "blind-scratch" "takes scratch that nobody stored" CS12,
    "blind-slots" "takes messages of any size" CS13,
    "blind-messages" "takes a message for another" CS14,
    "blind-tiles" "takes any tiles" CS15,
    "blind-length" "takes loops of any length" CS16,
    "blind-receives" "takes receives that nothing is sent to" CD01,
    "blind-leftovers" "takes messages that are left over" CD02,
    "infinite-queues" "takes queues for infinite" CD03,
    "blind-crossed" "takes waits in a ring" CD04,
    "never-stuck" "does not ask whether anything ends" CD01 CD02 CD03 CD04,
    "blind-unwritten" "takes results that nobody stored" CT01,
    "blind-missing" "takes lost contributions" CT02,
    "contributions-as-a-set" "takes contributions that are there twice" CT03,
    "blind-foreign" "takes contributions that nobody asked for" CT04,
    "blind-stale" "takes results that are overwritten" CT05,
    "no-results" "does not ask what anybody ends with" CT01 CT02 CT03 CT04 CT05,
    "exact-sums-alone" "tests with numbers that are exact in any order" CB01 CW01,
    "blind-bits" "takes devices that end with other bits" CB01,
    "blind-symbols" "takes modules without a kernel" CC01,
    "blind-arity" "takes kernels with other parameters" CC02,
    "blind-tl" "takes kernels without `tl`" CC03,
    "blind-kinds" "takes maps without the kind" CC04,
    "blind-sizes" "takes another number of ranks" CC05,
    "silent-orders" "does not warn of other orders of additions" CW01,
    "silent-slots" "does not warn of handles that outlive their slots" CW02,
    "silent-kinds" "does not warn of modules without a map" CW03,
};

fn at<'v>(document: &'v mut Value, path: &str) -> Option<&'v mut Value> {
    document.pointer_mut(path)
}

fn put(document: &mut Value, path: &str, member: &str, to: Value) {
    if let Some(Value::Object(members)) = at(document, path) {
        members.insert(member.to_owned(), to);
    }
}

fn drop_member(document: &mut Value, path: &str, member: &str) {
    if let Some(Value::Object(members)) = at(document, path) {
        members.remove(member);
    }
}

/// A number of the topology, changed where it stands there.
fn number(document: &mut Value, path: &str, change: fn(i64) -> i64) {
    if let Some(value) = at(document, path)
        && let Some(number) = value.as_i64()
    {
        *value = json!(change(number));
    }
}

fn logs(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    document.get_mut("logs").and_then(Value::as_array_mut).into_iter().flatten()
}

/// Does something to every list of operations, those in loops included.
fn lists(document: &mut Value, change: &mut dyn FnMut(&mut Vec<Value>)) {
    fn walk(ops: &mut Vec<Value>, change: &mut dyn FnMut(&mut Vec<Value>)) {
        change(ops);
        for inner in ops.iter_mut().filter_map(|op| op.get_mut("ops")?.as_array_mut()) {
            walk(inner, change);
        }
    }
    for ops in logs(document).filter_map(|log| log.get_mut("ops")?.as_array_mut()) {
        walk(ops, change);
    }
}

/// Does something to every operation and loop.
fn operations(document: &mut Value, change: &mut dyn FnMut(&mut Value)) {
    lists(document, &mut |ops| ops.iter_mut().for_each(&mut *change));
}

/// Does something to every number that is computed of variables.
fn computed(document: &mut Value, change: &mut dyn FnMut(&mut Value)) {
    operations(document, &mut |op| {
        for member in ["at", "n", "count"] {
            op.get_mut(member).filter(|number| number.is_object()).into_iter().for_each(&mut *change);
        }
    });
}

fn member(value: &mut Value, member: &str, to: Value) {
    if value.get(member).is_some() {
        value[member] = to;
    }
}

fn entries(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    logs(document).filter_map(|log| log.get_mut("elements")?.as_array_mut()).flatten()
}

#[rustfmt::skip] // a table
const OTHERS: &[Entry] = &[
    ("accepts-all", "accepts whatever it can read", Finds(|answer| match answer {
        Answer::Reject { diagnostics } if !diagnostics.iter().any(|found| found.rule.id().starts_with('S')) => {
            Answer::Accept { diagnostics: Vec::new(), document: None }
        }
        _ => answer.clone(),
    })),
    ("rejects-all", "rejects whatever it can read", Finds(|answer| match answer {
        Answer::Accept { .. } => Answer::Reject { diagnostics: vec![Diagnostic::new(Rule::CS01, "", String::new())] },
        _ => answer.clone(),
    })),
    ("full-for-crossed", "asks for more capacity where none helps", Finds(|answer| mistaken(answer, Rule::CD04, Rule::CD03))),
    ("crossed-for-full", "says that no capacity helps where it does", Finds(|answer| mistaken(answer, Rule::CD03, Rule::CD04))),
    ("missing-for-unwritten", "says that a contribution is missing where nothing was stored", Finds(|answer| mistaken(answer, Rule::CT01, Rule::CT02))),
    ("missing-for-stale", "says that a contribution is missing where the result was overwritten", Finds(|answer| mistaken(answer, Rule::CT05, Rule::CT02))),
    ("stuck-for-leftover", "says that nothing is sent where nothing is received", Finds(|answer| mistaken(answer, Rule::CD02, Rule::CD01))),
    ("capacity-less", "takes each queue for one slot smaller", Misreads(|document| {
        number(document, "/topology/capacity", |capacity| (capacity - 1).max(1));
    })),
    ("capacity-more", "takes each queue for one slot larger", Misreads(|document| number(document, "/topology/capacity", |capacity| capacity + 1))),
    ("capacity-one", "takes each queue for one slot", Misreads(|document| number(document, "/topology/capacity", |capacity| capacity.min(1)))),
    ("default-capacity", "does not read capacities", Misreads(|document| drop_member(document, "/topology", "capacity"))),
    ("link-first", "takes the first cube for the one that is connected", Misreads(|document| put(document, "/topology", "link_cube", json!(0)))),
    ("no-links", "does not read which cube is connected", Misreads(|document| drop_member(document, "/topology", "link_cube"))),
    ("grid-turned", "takes the width of a grid for its height", Misreads(|document| {
        let [w, h] = ["w", "h"].map(|name| document.pointer(&format!("/topology/{name}")).cloned());
        for (name, extent) in [("w", h), ("h", w)] {
            extent.into_iter().for_each(|extent| put(document, "/topology", name, extent));
        }
    })),
    ("cubes-turned", "takes the width of the cubes for their height", Misreads(|document| {
        let [w, h] = ["cube_w", "cube_h"].map(|name| document.pointer(&format!("/topology/{name}")).cloned());
        for (name, extent) in [("cube_w", h), ("cube_h", w)] {
            extent.into_iter().for_each(|extent| put(document, "/topology", name, extent));
        }
    })),
    ("one-cube", "takes the default for the cubes", Misreads(|document| {
        ["cube_w", "cube_h"].iter().for_each(|name| drop_member(document, "/topology", name));
    })),
    ("mesh-wraps", "takes a mesh for a torus", Misreads(|document| {
        if document.pointer("/topology/kind") == Some(&json!("mesh_2d_no_wrap")) {
            put(document, "/topology", "kind", json!("torus_2d"));
        }
    })),
    ("torus-does-not-wrap", "takes a torus for a mesh", Misreads(|document| {
        if document.pointer("/topology/kind") == Some(&json!("torus_2d")) {
            put(document, "/topology", "kind", json!("mesh_2d_no_wrap"));
        }
    })),
    ("no-slots", "does not read how large a slot is", Misreads(|document| drop_member(document, "/topology", "slot_bytes"))),
    ("slots-in-numbers", "takes bytes of a slot for numbers", Misreads(|document| number(document, "/topology/slot_bytes", |bytes| bytes * 2))),
    ("edges-turned", "takes edges for the opposite ones", Misreads(|document| {
        for edge in document.pointer_mut("/topology/edges").and_then(Value::as_array_mut).into_iter().flatten() {
            for (one, other) in [("from", "to"), ("out", "in")] {
                let (a, b) = (edge.get(one).cloned().unwrap_or_default(), edge.get(other).cloned().unwrap_or_default());
                (edge[one], edge[other]) = (b, a);
            }
        }
    })),
    ("no-scratch", "has no scratch", Misreads(|document| member(document, "scratch", json!(0)))),
    ("tile-longer", "takes tiles for one position longer", Misreads(|document| number(document, "/n_elem", |n| n + 1))),
    ("root-zero", "takes rank 0 for the root", Misreads(|document| drop_member(document, "/collective", "root"))),
    ("over-elements", "takes all cubes for one group", Misreads(|document| drop_member(document, "/collective", "over"))),
    ("over-ranks", "takes each cube for a group", Misreads(|document| put(document, "/collective", "over", json!("ranks")))),
    ("always-identical", "asks for equal bits everywhere", Misreads(|document| drop_member(document, "/collective", "bits"))),
    ("always-per-element", "asks for equal bits nowhere", Misreads(|document| put(document, "/collective", "bits", json!("per_element")))),
    ("gather-for-scatter", "takes a reduce-scatter for an all-gather", Misreads(|document| {
        if document.pointer("/collective/kind") == Some(&json!("reduce_scatter")) {
            put(document, "/collective", "kind", json!("all_gather"));
        }
    })),
    ("steps-of-one", "does not read steps between elements", Misreads(|document| {
        entries(document).filter_map(|entry| entry.get_mut(2)).for_each(|step| *step = json!(1));
    })),
    ("last-element-out", "leaves out the last element of each entry", Misreads(|document| {
        for last in entries(document).filter_map(|entry| entry.get_mut(1)) {
            *last = json!(last.as_i64().unwrap_or(1) - 1);
        }
    })),
    ("first-entry", "reads the first entry of elements alone", Misreads(|document| {
        logs(document).filter_map(|log| log.get_mut("elements")?.as_array_mut()).for_each(|entries| entries.truncate(1));
    })),
    ("first-log", "reads the first log alone", Misreads(|document| {
        document.get_mut("logs").and_then(Value::as_array_mut).into_iter().for_each(|logs| logs.truncate(1));
    })),
    ("last-operation-out", "leaves out the last operation of each log", Misreads(|document| {
        for ops in logs(document).filter_map(|log| log.get_mut("ops")?.as_array_mut()) {
            ops.pop();
        }
    })),
    ("no-modulus", "computes numbers without their modulus", Misreads(|document| computed(document, &mut |number| {
        number.as_object_mut().into_iter().for_each(|members| drop(members.remove("mod")));
    }))),
    ("no-summand", "computes numbers without what is added", Misreads(|document| computed(document, &mut |number| member(number, "add", json!(0))))),
    ("no-factor", "computes numbers without the factor behind the modulus", Misreads(|document| computed(document, &mut |number| member(number, "times", json!(1))))),
    ("no-offset", "computes numbers without the summand behind the modulus", Misreads(|document| computed(document, &mut |number| member(number, "plus", json!(0))))),
    ("no-variables", "takes variables for 0", Misreads(|document| computed(document, &mut |number| member(number, "of", json!({}))))),
    ("one-turn-less", "leaves out the last turn of each loop", Misreads(|document| operations(document, &mut |op| {
        if let Some(count) = op.get("count").and_then(Value::as_i64) {
            op["count"] = json!(count - 1);
        }
    }))),
    ("no-loops", "does what is in a loop once", Misreads(|document| operations(document, &mut |op| member(op, "count", json!(1))))),
    ("narrow-messages", "takes all messages for binary16", Misreads(|document| operations(document, &mut |op| {
        op.as_object_mut().filter(|op| op.get("op") == Some(&json!("recv"))).into_iter().for_each(|op| drop(op.remove("dtype")));
    }))),
    ("no-casts", "takes casts to binary32 for nothing", Misreads(|document| operations(document, &mut |op| {
        if op.get("op") == Some(&json!("cast")) {
            op["dtype"] = json!("f16");
        }
    }))),
    ("same-direction", "takes a message from where it is sent to", Misreads(|document| operations(document, &mut |op| {
        if op.get("op") == Some(&json!("recv")) && let Some(dir) = op.get("dir").and_then(Value::as_str) {
            let opposite = [("E", "W"), ("W", "E"), ("N", "S"), ("S", "N")];
            let other = opposite.iter().find_map(|(end, other)| Some(format!("{}{other}", dir.strip_suffix(end)?)));
            op["dir"] = json!(other.unwrap_or_else(|| dir.to_owned()));
        }
    }))),
    ("first-operand-twice", "adds the first operand to itself", Misreads(|document| operations(document, &mut |op| {
        if let Some(a) = op.get("a").cloned() {
            member(op, "b", a);
        }
    }))),
    ("at-zero", "loads and stores at the beginning of the tile", Misreads(|document| operations(document, &mut |op| member(op, "at", json!(0))))),
    ("blocks-of-bytes", "takes positions for bytes", Misreads(|document| operations(document, &mut |op| {
        if let Some(at) = op.get("at").and_then(Value::as_i64) {
            op["at"] = json!(at / 2);
        }
    }))),
    ("tiles-in-reverse", "gives the tiles to the elements from the last to the first", Misreads(|document| {
        document.get_mut("tiles").and_then(Value::as_array_mut).into_iter().for_each(|tiles| tiles.reverse());
    })),
    ("arguments-ignored", "does not read how many arguments there are", Misreads(|document| drop_member(document, "/module", "required"))),
    ("never-variadic", "does not read that a kernel takes further arguments", Misreads(|document| drop_member(document, "/module", "variadic"))),
    ("map-for-none", "takes no map for an empty one", Misreads(|document| {
        if document.pointer("/module/kinds") == Some(&Value::Null) {
            put(document, "/module", "kinds", json!({}));
        }
    })),
    ("always-a-ring", "takes modules for run on a ring", Misreads(|document| {
        if document.get("module").is_some() {
            put(document, "/topology", "kind", json!("ring_1d"));
        }
    })),
];

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    BLIND.iter().chain(OTHERS)
}
