//! Faulty passes that make documents, each of which the runner's judge rejects in three requests at least for what it is about, and other right ones,
//! which it accepts in all (clauses MCI-23 to MCI-25).

mod common;
mod rescale;

use common::{FIELD, MOVED, Pass, TARGET, answer as right, array, rejected};
use megakernel_mcir_cases::{bases, graphs};
use megakernel_mcir_reference::transformed;
use rescale::not_in_the_last_tile;
use serde_json::{Value, json};

/// What an answer is rejected for, as the judge says it.
const BOUNDS: &str = "with the inputs";
const STORED: &str = "tensors that are values of the graph";
const LATE: &str = "loads that begin an iteration ahead";
const PEAK: &str = "of shared memory and";

/// Requests by name.
fn streaming() -> Vec<(String, Value)> {
    let request = |(name, _, graph, target): (&str, &str, Value, Option<[i64; 2]>)| {
        let mut request = json!({"pass": "StreamingConversionPass", "graph": graph});
        if let Some([shared, register]) = target {
            request["target"] = json!({"shared_bytes": shared, "register_bytes": register});
        }
        (name.to_owned(), request)
    };
    graphs::streamed().into_iter().map(request).collect()
}

/// Requests about documents of a few tiles.
fn of_documents(pass: &str, change: fn(&mut Value)) -> Vec<(String, Value)> {
    let small = bases::all().iter().filter(|base| base.name.starts_with("small-"));
    let request = |base: &bases::Base| {
        let mut document = base.document.clone();
        document["target"] = json!({});
        change(&mut document);
        (base.name.clone(), json!({"pass": pass, "document": document}))
    };
    small.map(request).collect()
}

fn kept_for_blocks(document: &mut Value) {
    for residency in array(&mut document["residency"]) {
        residency["lifetime"] = json!("block");
    }
    for value in document["values"].as_object_mut().expect("values").values_mut() {
        if value["residency"] != "global" {
            value["buffers"] = json!(value["buffers"].as_i64().unwrap_or(1) + 2);
        }
    }
}

/// Calls with each node of a document and the body in which it stands.
fn nodes(document: &mut Value, mut visit: impl FnMut(&mut Value, &str)) {
    for region in array(&mut document["regions"]) {
        for body in ["begin", "each", "end"] {
            let nodes = region["streaming"]["tile"][body].as_array_mut();
            nodes.into_iter().flatten().for_each(|node| visit(node, body));
        }
    }
}

/// The right answer with other nodes; nothing where they are the same.
fn changed(request: &Value, visit: impl FnMut(&mut Value, &str)) -> Option<Value> {
    let before = right(request);
    let mut made = before.clone();
    nodes(&mut made, visit);
    (made != before).then_some(made)
}

/// Nodes with this function become copies.
fn left_out(request: &Value, function: &str) -> Option<Value> {
    changed(request, |node, _| {
        if node["fn"] == function {
            node["fn"] = json!("copy");
        }
    })
}

/// States that begin with 0.
fn zeroed(request: &Value, which: fn(&Value) -> bool) -> Option<Value> {
    let before = right(request);
    let mut made = before.clone();
    let states =
        array(&mut made["regions"]).iter_mut().flat_map(|region| array(&mut region["streaming"]["state"]));
    states.filter(|state| which(state)).for_each(|state| state["init"] = json!(0));
    (made != before).then_some(made)
}

/// Functions of two tiles, one of which has one number for each row or column, become copies of the other one.
fn without_second(request: &Value, function: &str, along: &str) -> Option<Value> {
    changed(request, |node, _| {
        if node["fn"] == function && node["along"] == along {
            node["fn"] = json!("copy");
            array(&mut node["in"]).pop();
            node.as_object_mut().expect("a node").remove("along");
        }
    })
}

fn streams(request: &Value, change: impl Fn(&mut Value, &Value)) -> Option<Value> {
    let before = right(request);
    let mut made = before.clone();
    for region in array(&mut made["regions"]) {
        let steps = region["streaming"]["tile"]["tile_shape"].clone();
        if region["streaming"]["stream"].is_object() {
            change(&mut region["streaming"]["stream"], &steps);
        }
    }
    (made != before).then_some(made)
}

/// A tile by its name, of another dtype.
fn dtype(request: &Value, name: &str) -> Option<Value> {
    let before = right(request);
    let mut made = before.clone();
    for (key, value) in made["values"].as_object_mut().expect("values") {
        if key.starts_with(name) && value["residency"] != "global" && value["dtype"] == "F32" {
            value["dtype"] = json!("F16");
        }
    }
    (made != before).then_some(made)
}

/// Scores are stored in a tensor of their own.
fn scores_stored(request: &Value) -> Option<Value> {
    let mut made = right(request);
    let region = array(&mut made["regions"]).first_mut()?;
    if region["streaming"]["stream"]["to"].as_array()?.len() > 1
        || region["streaming"]["tile"]["blocks"]["g"].is_number()
    {
        return None;
    }
    let (rows, keys) =
        (region["streaming"]["tile"]["blocks"]["i"].clone(), region["streaming"]["stream"]["to"][0].clone());
    let each = array(&mut region["streaming"]["tile"]["each"]);
    let at = each.iter().position(|node| node["fn"] == "online_softmax")?;
    let scores = each[at]["in"][0].clone();
    each.insert(
        at,
        json!({"id": "spill", "op": "StoreTile", "in": [scores], "out": ["spilt"], "at": ["i", "j"]}),
    );
    array(&mut region["outputs"]).push(json!("spilt"));
    made["values"]["spilt"] = json!({"shape": [rows, keys], "dtype": "F32", "residency": "global"});
    array(&mut made["boundaries"]).push(json!({"value": "spilt"}));
    Some(made)
}

fn lifetimes(document: &mut Value, from: &str, to: &str) {
    for residency in array(&mut document["residency"]) {
        if residency["lifetime"] == from {
            residency["lifetime"] = json!(to);
        }
    }
}

fn blocks(request: &Value, change: impl Fn(&mut Value, &mut Value)) -> Option<Value> {
    let before = right(request);
    let mut made = before.clone();
    for region in array(&mut made["regions"]) {
        let tile = &mut region["streaming"]["tile"];
        let (mut extent, mut step) = (tile["blocks"]["i"].clone(), tile["tile_shape"]["i"].clone());
        change(&mut extent, &mut step);
        (tile["blocks"]["i"], tile["tile_shape"]["i"]) = (extent, step);
    }
    (made != before).then_some(made)
}

fn number(value: &Value) -> i64 {
    value.as_i64().expect("a number")
}

#[rustfmt::skip] // a table
const STREAMING: &[(&str, &str, Pass)] = &[
    ("the accumulator is not rescaled", FIELD, |request| changed(request, |node, _| if node["fn"] == "scale_add" {
        node["fn"] = json!("add");
        array(&mut node["in"]).remove(1);
    })),
    ("the accumulator is not rescaled in the last tile", FIELD, not_in_the_last_tile),
    ("weights are not divided by their sum", FIELD, |request| without_second(request, "div", "rows")),
    ("the largest score begins with 0", BOUNDS, |request| zeroed(request, |state| state["init"] == "-inf")),
    ("the last tile of a stream is left out", FIELD, |request| streams(request, |stream, steps| {
        let (end, step) = (number(&stream["to"][0]), number(&steps[stream["axis"].as_str().expect("an axis")]));
        if end > step {
            stream["to"][0] = json!((end - 1) / step * step);
        }
    })),
    ("the first tile of a stream is left out", FIELD, |request| streams(request, |stream, steps| {
        let step = number(&steps[stream["axis"].as_str().expect("an axis")]);
        if number(&stream["to"][0]) > step {
            stream["from"] = json!([step]);
        }
    })),
    ("keys and values are always those of the first tile", FIELD, |request| changed(request, |node, body| {
        if body == "each" && node["op"] == "LoadTile" && node["at"].as_array().expect("indices").iter().any(|index| index == "j") {
            array(&mut node["at"]).iter_mut().filter(|index| **index == "j").for_each(|index| *index = json!(0));
        }
    })),
    ("the scale is left out", FIELD, |request| left_out(request, "scale")),
    ("the eps of a norm is left out", FIELD, |request| zeroed(request, |state| state["value"].to_string().contains("eps"))),
    ("the mean of a norm is not taken off", FIELD, |request| without_second(request, "sub", "rows")),
    ("the weight of a norm is left out", FIELD, |request| without_second(request, "mul", "columns")),
    ("a mean is taken for a sum", FIELD, |request| changed(request, |node, _| if node["fn"] == "scale" && node["by"][0] == 1 && request["graph"].to_string().contains("_norm") {
        node["by"][1] = json!(1);
    })),
    ("both halves of a rotation are sums", FIELD, |request| changed(request, |node, _| if node["fn"] == "sub" && node["along"].is_null() && request["graph"].to_string().contains("\"rope\"") {
        node["fn"] = json!("add");
    })),
    ("the halves of a rotation are interchanged", FIELD, |request| changed(request, |node, _| if node["op"] == "LoadTile" && node["at"].to_string().contains("[-1,\"half\"]") {
        *array(&mut node["at"]).last_mut().expect("an index") = json!(["half", "j"]);
    })),
    ("cosine and sine are interchanged", FIELD, |request| changed(request, |node, _| if node["op"] == "LoadTile" && (node["in"][0] == "C" || node["in"][0] == "S") {
        node["in"][0] = json!(if node["in"][0] == "C" { "S" } else { "C" });
    })),
    ("a sum is taken for a maximum", FIELD, |request| changed(request, |node, _| if node["op"] == "UpdateState" && node["fn"] == "max" {
        node["fn"] = json!("add");
    })),
    ("the scale is turned over", FIELD, |request| changed(request, |node, _| if node["fn"] == "scale" {
        node["by"] = json!([number(&node["by"][1]), number(&node["by"][0]).abs()]);
    })),
    ("the mask is left out", FIELD, |request| left_out(request, "mask")),
    ("the mask hides the diagonal", FIELD, |request| changed(request, |node, _| if node["fn"] == "mask" {
        node["rows"][1] = json!(number(&node["rows"][1]) - 1);
    })),
    ("the mask shows one key more", FIELD, |request| changed(request, |node, _| if node["fn"] == "mask" {
        node["rows"][1] = json!(number(&node["rows"][1]) + 1);
    })),
    ("the window is one key narrower", FIELD, |request| changed(request, |node, _| if node["window"].as_i64().is_some_and(|window| window > 1) {
        node["window"] = json!(number(&node["window"]) - 1);
    })),
    ("tiles on the diagonal are left out", FIELD, |request| streams(request, |stream, _| if stream["to"][1].is_array() {
        stream["to"][1][1] = json!(number(&stream["to"][1][1]) - 5);
    })),
    ("queries of a group are taken of others", FIELD, |request| {
        let groups = ["K", "W"].into_iter().find_map(|name| request["graph"]["values"][name]["shape"][0].as_i64())?;
        changed(request, |node, _| if node["op"] == "LoadTile" && node["at"][0].is_array() {
            node["at"][0] = json!(["g", [groups, "h"]]);
        })
    }),
    ("weights are rounded", FIELD, |request| dtype(request, "weights")),
    ("the accumulator is rounded", FIELD, |request| dtype(request, "acc")),
    ("sums are rounded", FIELD, |request| dtype(request, "sum")),
    ("softmax that is written out has no largest score", BOUNDS, |request| changed(request, |node, body| if body == "begin" && node["fn"] == "sub" {
        node["fn"] = json!("copy");
        array(&mut node["in"]).pop();
        node.as_object_mut().expect("a node").remove("along");
    })),
    ("scores are stored", STORED, scores_stored),
    ("blocks hold more than there is", "(IT02)", |request| {
        let mut free = request.clone();
        free["target"] = json!({});
        let mut made = right(&free);
        made["target"] = right(request)["target"].clone();
        (made["target"]["shared_bytes"].is_number()).then_some(made)
    }),
    ("the target is left out", TARGET, |request| { let mut made = right(request); made["target"] = json!({}); request["target"].is_object().then_some(made) }),
    ("the last rows are left out", "(IB02)", |request| blocks(request, |extent, step| if number(extent) > number(step) {
        *extent = json!((number(extent) - 1) / number(step) * number(step));
    })),
    ("rows are stored twice", "(IB02)", |request| blocks(request, |extent, step| if number(extent) > number(step) && number(step) > 1 {
        *step = json!(number(step) - 1);
    })),
    ("queries are forgotten", "(IL02)", |request| { let mut made = right(request); lifetimes(&mut made, "block", "node"); Some(made) }),
    ("boundaries are left out", "(IM01)", |request| { let mut made = right(request); array(&mut made["boundaries"]).clear(); Some(made) }),
];

#[rustfmt::skip] // a table
const SCHEDULING: &[(&str, &str, Pass)] = &[
    ("nothing is done", LATE, |request| (right(request) != request["document"]).then(|| request["document"].clone())),
    ("barriers are left out", "(IO0", |request| {
        let (mut made, is_new) = (right(request), right(request) != request["document"]);
        for region in array(&mut made["regions"]) {
            for body in ["begin", "each"] {
                region["streaming"]["tile"][body].as_array_mut().into_iter().for_each(|nodes| nodes.retain(|node| node["op"] != "Barrier"));
            }
        }
        is_new.then_some(made)
    }),
    ("barriers wait for the version after the one that is read", "(IO0", |request| {
        let made = changed(request, |node, body| if body == "each" && node["op"] == "Barrier" {
            array(&mut node["wait"]).iter_mut().for_each(|wait| wait[1] = json!(number(&wait[1]) + 1));
        });
        made.filter(|_| right(request) != request["document"])
    }),
    ("tiles have one slot", "(IO02)", |request| {
        let mut made = right(request);
        made["values"].as_object_mut().expect("values").values_mut().filter(|value| value["buffers"] == 2).for_each(|value| value["buffers"] = json!(1));
        (right(request) != request["document"]).then_some(made)
    }),
    ("the first tiles are not loaded", "(IO03)", |request| {
        let mut made = right(request);
        for region in array(&mut made["regions"]) {
            region["streaming"]["tile"]["begin"].as_array_mut().into_iter().for_each(|nodes| nodes.retain(|node| node["op"] != "Prefetch"));
        }
        (right(request) != request["document"]).then_some(made)
    }),
    ("tiles are loaded two iterations ahead, and the second one never", "(IO03)", |request| changed(request, |node, body| if body == "each" && node["op"] == "Prefetch" && node["version"] == 1 {
        node["version"] = json!(2);
    }).filter(|_| right(request) != request["document"])),
    ("tiles of other iterations are loaded", FIELD, |request| changed(request, |node, _| if node["op"] == "Prefetch" {
        for index in array(&mut node["at"]).iter_mut().filter(|index| index.is_string()) {
            *index = json!(0);
        }
    })),
    ("a tile is loaded twice", MOVED, |request| {
        let mut made = right(request);
        let region = array(&mut made["regions"]).first_mut()?;
        let begin = region["streaming"]["tile"]["begin"].as_array_mut()?;
        let mut load = begin.iter().find(|node| node["op"] == "LoadTile")?.clone();
        let tile = load["out"][0].as_str()?.to_owned();
        (load["id"], load["out"]) = (json!("again"), json!(["again"]));
        begin.insert(0, load);
        made["values"]["again"] = made["values"][&tile].clone();
        let memory = made["values"]["again"]["residency"].clone();
        array(&mut made["residency"]).push(json!({"memory": memory, "values": ["again"], "lifetime": "block"}));
        Some(made)
    }),
    ("there is another target", TARGET, |request| { let mut made = right(request); made["target"] = json!({"shared_bytes": 1 << 20}); Some(made) }),
];

#[rustfmt::skip] // a table
const ASSIGNMENT: &[(&str, &str, Pass)] = &[
    ("nothing is done", PEAK, |request| Some(request["document"].clone())),
    ("slots stay as they were", PEAK, |request| { let mut made = right(request); made["values"] = request["document"]["values"].clone(); Some(made) }),
    ("lifetimes stay as they were", PEAK, |request| { let mut made = right(request); made["residency"] = request["document"]["residency"].clone(); Some(made) }),
    ("every tile is kept for a node", "(IL02)", |request| { let mut made = right(request); for from in ["block", "stream", "iteration"] { lifetimes(&mut made, from, "node"); } Some(made) }),
    ("every tile is kept for an iteration", "(IL02)", |request| { let mut made = right(request); for from in ["block", "stream", "node"] { lifetimes(&mut made, from, "iteration"); } Some(made) }),
    ("every tile has one slot", "(IO02)", |request| {
        let mut made = right(request);
        made["values"].as_object_mut().expect("values").values_mut().for_each(|value| { value.as_object_mut().expect("a value").remove("buffers"); });
        Some(made)
    }),
    ("a tile is kept nowhere", "(IL01)", |request| { let mut made = right(request); array(&mut made["residency"]).pop(); Some(made) }),
    ("tiles are kept in the other memory", "(IL01)", |request| {
        let mut made = right(request);
        for residency in array(&mut made["residency"]) {
            residency["memory"] = json!(if residency["memory"] == "shared" { "register" } else { "shared" });
        }
        Some(made)
    }),
    ("there is another target", TARGET, |request| { let mut made = right(request); made["target"] = json!({"register_bytes": 1 << 20}); Some(made) }),
];

/// The right answer for less memory, on the target that there is.
fn smaller(request: &Value) -> Option<Value> {
    let most = right(request)["target"]["shared_bytes"].clone();
    let mut less = request.clone();
    less["target"] = json!({"shared_bytes": 400, "register_bytes": 700});
    let mut made = transformed(less.to_string().as_bytes()).ok()?;
    made["target"] = right(request)["target"].clone();
    most.as_i64().is_none_or(|most| most > 400).then_some(made)
}

/// The right answer, and what other passes make of it, on the target that there is.
fn followed(request: &Value, pass: &str) -> Option<Value> {
    Some(right(&json!({"pass": pass, "document": smaller(request)?})))
}

/// States begin with other numbers: the first factor is 0.
fn other_states(request: &Value) -> Option<Value> {
    let mut made = right(request);
    for region in array(&mut made["regions"]) {
        let is_attention = region["streaming"]["state"].as_array().is_some_and(|states| states.len() == 3);
        // Streams without any tile keep what they begin with.
        let is_whole = region["streaming"]["stream"]["to"].as_array().is_some_and(|to| to.len() == 1);
        let states = region["streaming"]["state"].as_array_mut().into_iter().flatten();
        states
            .filter(|state| is_attention && is_whole && state["init"] == 0)
            .for_each(|state| state["init"] = json!(3));
    }
    Some(made)
}

fn renamed(request: &Value) -> Option<Value> {
    Some(
        serde_json::from_str(&right(request).to_string().replace(" tile", " part").replace("tile'", "made'"))
            .expect("JSON"),
    )
}

fn rejection((name, request): &(String, Value), answer: &Value) -> Option<String> {
    rejected(name, request, answer)
}

/// The first variant is judged in all requests, any other in every third one that it answers; a fault until three have rejected it for its reason.
fn check(requests: &[(String, Value)], variants: &[(&str, Pass)], faults: &[(&str, &str, Pass)]) {
    for (place, (name, pass)) in variants.iter().enumerate() {
        let answers = requests.iter().filter_map(|named| Some((named, pass(&named.1)?)));
        let answers: Vec<_> = answers.step_by(if place == 0 { 1 } else { 3 }).collect();
        assert!(answers.len() >= 3, "{name}: {} answers", answers.len());
        let found = answers.iter().filter_map(|(named, answer)| rejection(named, answer));
        assert_eq!(found.collect::<Vec<_>>(), Vec::<String>::new(), "{name}");
    }
    let mut few = Vec::new();
    for (name, reason, pass) in faults {
        let found = requests.iter().filter_map(|named| rejection(named, &pass(&named.1)?));
        let mut others = Vec::new();
        let about = found.filter(|found| {
            let is_about = found.contains(reason);
            if !is_about {
                others.push(found.clone());
            }
            is_about
        });
        if about.take(3).count() < 3 {
            few.push((name, others));
        }
    }
    assert_eq!(few, Vec::new(), "faults that fewer than three requests reject for what they are about");
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_graphs_become_documents_that_stream() {
    let variants: &[(&str, Pass)] = &[
        ("the reference's", |request| Some(right(request))),
        ("smaller tiles", smaller),
        ("loads that begin ahead", |request| followed(request, "TileSchedulingPass")),
        ("shortest lifetimes", |request| followed(request, "ResidencyAssignmentPass")),
        ("other initial values", other_states),
        ("other names", renamed),
    ];
    check(&streaming(), variants, STREAMING);
}

#[test]
fn loads_of_documents_begin_ahead() {
    let variants: &[(&str, Pass)] = &[
        ("the reference's", |request| Some(right(request))),
        ("twice", |request| Some(right(&json!({"pass": "TileSchedulingPass", "document": right(request)})))),
    ];
    check(&of_documents("TileSchedulingPass", |_| ()), variants, SCHEDULING);
}

#[test]
fn tiles_of_documents_are_kept_no_longer_than_they_have_to_be() {
    let variants: &[(&str, Pass)] = &[
        ("the reference's", |request| Some(right(request))),
        ("after a pass before it", |request| {
            let mut document = right(request);
            document = right(&json!({"pass": "ResidencyAssignmentPass", "document": document}));
            Some(document)
        }),
    ];
    check(&of_documents("ResidencyAssignmentPass", kept_for_blocks), variants, ASSIGNMENT);
}
