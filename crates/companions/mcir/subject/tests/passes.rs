//! Faulty passes, each of which the runner's judge rejects in three cases at least, and other right ones, which it accepts in all
//! (clauses MCI-20 to MCI-22).

use megakernel_mcir_checker::judge_transform;
use megakernel_mcir_reference::transformed;
use megakernel_test_support::{files, root};
use serde_json::{Value, json};

/// The graph that a pass makes of a graph.
type Pass = fn(&Value) -> Value;

/// The requests of the corpus that are accepted, each with the id of its case.
fn requests() -> Vec<(String, Value)> {
    let files = files::json_below(&root().join("corpus/cases/mcir/transform"));
    let cases =
        files.iter().map(|path| files::json(path)).filter(|case| case["expect"]["verdict"] == "accept");
    let request = |case: Value| {
        let text = case["document"]["text"].as_str().expect("a text");
        (case["id"].as_str().expect("an id").to_owned(), serde_json::from_str(text).expect("JSON"))
    };
    cases.map(request).collect()
}

/// What the reference makes of it.
fn right(graph: &Value) -> Value {
    let request = json!({"pass": "AttentionPatternPass", "graph": graph}).to_string();
    transformed(request.as_bytes()).expect("a graph that breaks no rule")
}

fn array(value: &mut Value) -> &mut Vec<Value> {
    value.as_array_mut().expect("an array")
}

/// The reference's graph with another `attention`, wherever there is one that was not there before.
fn fused(graph: &Value, change: impl Fn(&mut Value)) -> Value {
    let mut made = right(graph);
    let old = graph["nodes"].to_string();
    for node in array(&mut made["nodes"]) {
        if node["op"] == "attention" && !old.contains("\"attention\"") {
            change(node);
        }
    }
    made
}

fn by(graph: &Value, of: impl Fn(i64, i64) -> [i64; 2]) -> Value {
    fused(graph, |node| {
        let [p, q] = [0, 1].map(|place| node["by"][place].as_i64().unwrap_or(1));
        node["by"] = json!(of(p, q));
    })
}

fn mask(graph: &Value, of: impl Fn(&mut Value)) -> Value {
    fused(graph, |node| {
        if node["mask"].is_object() {
            of(&mut node["mask"]);
        }
    })
}

fn window(graph: &Value, more: i64) -> Value {
    mask(graph, |mask| {
        if let Some(window) = mask["window"].as_i64() {
            mask["window"] = json!(window + more);
        }
    })
}

fn offset(graph: &Value, more: i64) -> Value {
    mask(graph, |mask| mask["offset"] = json!(mask["offset"].as_i64().unwrap_or(0) + more))
}

fn operands(graph: &Value, places: [usize; 3]) -> Value {
    fused(graph, |node| node["in"] = places.map(|place| node["in"][place].clone()).as_slice().into())
}

/// The reference's graph of one that was changed before.
fn of_changed(graph: &Value, change: impl Fn(&mut Value)) -> Value {
    let mut changed = graph.clone();
    change(&mut changed);
    right(&changed)
}

/// Names of values that are neither inputs nor outputs.
fn inside(graph: &Value) -> Vec<String> {
    let listed = format!("{}{}", graph["inputs"], graph["outputs"]);
    let all = graph["values"].as_object().expect("values").keys();
    all.filter(|name| !listed.contains(&format!("\"{name}\""))).cloned().collect()
}

/// Each intermediate value under another name.
fn renamed(graph: &Value) -> Value {
    let mut text = graph.to_string();
    for name in inside(graph) {
        text = text.replace(&format!("\"{name}\""), &format!("\"other {name}\""));
    }
    // A value that is called like a reduction.
    serde_json::from_str(&text.replace("\"fn\":\"other ", "\"fn\":\"")).expect("JSON")
}

fn without_roundings(graph: &Value, is_rounded: fn(&str) -> bool) -> Value {
    of_changed(graph, |graph| {
        for name in inside(graph).iter().filter(|name| is_rounded(name)) {
            graph["values"][name]["dtype"] = json!("F32");
        }
    })
}

/// Keys that some node made, replaced by what it made them from.
fn keys_before(graph: &Value) -> Value {
    let mut made = right(graph);
    let nodes = made["nodes"].clone();
    let source = |name: &Value| {
        let maker = nodes.as_array().into_iter().flatten().find(|node| node["out"] == *name);
        maker.filter(|node| node["op"] == "transpose").map(|node| node["in"][0].clone())
    };
    for node in array(&mut made["nodes"]).iter_mut().filter(|node| node["op"] == "attention") {
        if let Some(before) = source(&node["in"][1]) {
            // Two steps back: a transposition of a transposition.
            node["in"][1] = source(&before).unwrap_or(before);
        }
    }
    made
}

/// An output that is rounded to another dtype on its way.
fn rounded_twice(graph: &Value) -> Value {
    let mut made = right(graph);
    let last = array(&mut made["nodes"]).pop().expect("a node");
    let name = last["out"].as_str().expect("a name").to_owned();
    let mut value = made["values"][&name].clone();
    value["dtype"] = json!(if value["dtype"] == "BF16" { "F16" } else { "BF16" });
    made["values"]["rounded"] = value;
    let mut first = last.clone();
    first["out"] = json!("rounded");
    let second = json!({"id": "round again", "op": "copy", "in": ["rounded"], "out": name});
    array(&mut made["nodes"]).extend([first, second]);
    made
}

/// The nodes that the pass took stay where they were, but for the last ones.
fn scores_kept(graph: &Value) -> Value {
    let mut made = right(graph);
    let is_new =
        |node: &&Value| node["op"] == "attention" && !graph["nodes"].to_string().contains("\"attention\"");
    let new: Vec<Value> = made["nodes"].as_array().into_iter().flatten().filter(is_new).cloned().collect();
    let mut nodes = array(&mut made["nodes"]).clone();
    let have = |nodes: &[Value], out: &Value| nodes.iter().any(|node| node["out"] == *out);
    let gone: Vec<Value> = graph["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|node| !have(&nodes, &node["out"]) && !new.iter().any(|new| new["out"] == node["out"]))
        .cloned()
        .collect();
    nodes.extend(gone);
    // In the order of the graph, as far as it has them.
    let place =
        |out: &Value| graph["nodes"].as_array().into_iter().flatten().position(|node| node["out"] == *out);
    nodes.sort_by_key(|node| place(&node["out"]).unwrap_or(0));
    made["nodes"] = json!(nodes);
    made["values"] = {
        let mut values = graph["values"].clone();
        let added = made["values"].as_object().expect("values").clone();
        values.as_object_mut().expect("values").extend(added);
        values
    };
    made
}

/// Softmax that is written out, without the largest score.
fn unshifted(graph: &Value) -> Value {
    let mut made = right(graph);
    let nodes = array(&mut made["nodes"]);
    let Some(at) = nodes.iter().position(|node| node["op"] == "sub") else { return made };
    let (scores, shifted) = (nodes[at]["in"][0].clone(), nodes[at]["out"].clone());
    let top = nodes[at]["in"][1].clone();
    nodes.retain(|node| node["out"] != top && node["out"] != shifted);
    for node in nodes.iter_mut().filter(|node| node["in"][0] == shifted) {
        node["in"][0] = scores.clone();
    }
    let values = made["values"].as_object_mut().expect("values");
    [top, shifted].iter().for_each(|name| drop(values.remove(name.as_str().expect("a name"))));
    made
}

/// What an answer is rejected for, as the judge says it.
const GONE: &str = "(MCI-22)";
const FIELD: &str = "in a finite field";
const BOUNDS: &str = "with the inputs";
const INPUTS: &str = "the inputs [";
const OUTPUTS: &str = "the outputs [";

#[rustfmt::skip] // a table
const FAULTS: &[(&str, &str, Pass)] = &[
    ("nothing is done", GONE, Value::clone),
    ("the scores have another name", GONE, renamed),
    ("the scores stay, and nobody reads them", GONE, scores_kept),
    ("the scale is left out", FIELD, |graph| by(graph, |_, _| [1, 1])),
    ("the scale is taken twice", FIELD, |graph| by(graph, |p, q| [p * p, q * q])),
    ("the scale is turned over", FIELD, |graph| by(graph, |p, q| if p > 0 { [q, p] } else { [-q, -p] })),
    ("the scale has the other sign", FIELD, |graph| by(graph, |p, q| [-p, q])),
    ("the scale is off by a little", FIELD, |graph| by(graph, |p, q| [p * 1_000_000 + 1, q * 1_000_000])),
    ("the mask is left out", FIELD, |graph| fused(graph, |node| node["mask"] = Value::Null)),
    ("there is a mask everywhere", FIELD, |graph| fused(graph, |node| if node["mask"].is_null() { node["mask"] = json!({}) })),
    ("the mask hides the diagonal", FIELD, |graph| offset(graph, -1)),
    ("the mask shows one key more", FIELD, |graph| offset(graph, 1)),
    ("the offset of the mask is left out", FIELD, |graph| mask(graph, |mask| mask["offset"] = json!(0))),
    ("the window is left out", FIELD, |graph| mask(graph, |mask| mask["window"] = Value::Null)),
    ("the window is one key wider", FIELD, |graph| window(graph, 1)),
    ("the window is one key narrower", FIELD, |graph| window(graph, -1)),
    ("queries and keys are interchanged", FIELD, |graph| operands(graph, [1, 0, 2])),
    ("keys are values", FIELD, |graph| operands(graph, [0, 1, 1])),
    ("values are keys", FIELD, |graph| operands(graph, [0, 2, 2])),
    ("keys and values are interchanged", FIELD, |graph| operands(graph, [0, 2, 1])),
    ("queries are always the first input", FIELD, |graph| fused(graph, |node| node["in"][0] = graph["inputs"][0].clone())),
    ("keys are what was transposed, turned or rounded", FIELD, keys_before),
    ("roundings of scores and weights are lost", FIELD, |graph| without_roundings(graph, |name| "stp".contains(name))),
    ("all roundings on the way are lost", FIELD, |graph| without_roundings(graph, |_| true)),
    ("results are rounded twice", FIELD, rounded_twice),
    ("softmax always goes along the last axis", FIELD, |graph| of_changed(graph, |graph| {
        for node in array(&mut graph["nodes"]).iter_mut().filter(|node| node["op"] == "softmax" && node["axis"] == 0) {
            node["axis"] = json!(1);
        }
    })),
    ("softmax is written out without the largest score", BOUNDS, unshifted),
    ("outputs are in another order", OUTPUTS, |graph| { let mut made = right(graph); array(&mut made["outputs"]).reverse(); made }),
    ("inputs are in another order", INPUTS, |graph| { let mut made = right(graph); array(&mut made["inputs"]).reverse(); made }),
    ("outputs are in F32", OUTPUTS, |graph| { let mut made = right(graph); let name = made["outputs"][0].as_str().expect("a name").to_owned(); made["values"][name]["dtype"] = json!("F32"); made }),
];

/// Another node in place of one that was found, with the values of some that are gone.
fn scaled_queries(graph: &Value) -> Value {
    let mut made = fused(graph, |_| {});
    let mut nodes = Vec::new();
    let old = graph["nodes"].to_string();
    for (place, mut node) in array(&mut made["nodes"]).clone().into_iter().enumerate() {
        if node["op"] == "attention" && node["by"].is_array() && !old.contains("\"attention\"") {
            let name = format!("scaled {place}");
            let queries = node["in"][0].as_str().expect("a name").to_owned();
            made["values"][&name] = json!({"shape": made["values"][&queries]["shape"], "dtype": "F32"});
            nodes.push(json!({"id": name, "op": "scale", "by": node["by"], "in": [queries], "out": name}));
            node["in"][0] = json!(name);
            node["by"] = json!([1, 1]);
        }
        nodes.push(node);
    }
    made["nodes"] = json!(nodes);
    made
}

/// Softmax in five nodes becomes one before the pass.
fn gathered(graph: &Value) -> Value {
    let sub = graph["nodes"].as_array().into_iter().flatten().find(|node| node["op"] == "sub");
    let Some(scores) = sub.map(|node| node["in"][0].clone()) else { return right(graph) };
    of_changed(graph, |graph| {
        let axis =
            graph["values"][scores.as_str().expect("a name")]["shape"].as_array().expect("a shape").len() - 1;
        let softmax = json!({"id": "softmax", "op": "softmax", "axis": axis, "in": [scores], "out": "p"});
        let nodes = array(&mut graph["nodes"]);
        let last = nodes.iter().position(|node| node["op"] == "div").expect("a quotient");
        nodes[last] = softmax;
        nodes.retain(|node| !["top", "d", "e", "sum"].iter().any(|name| node["out"] == *name));
        let values = graph["values"].as_object_mut().expect("values");
        ["top", "d", "e", "sum"].iter().for_each(|name| drop(values.remove(*name)));
    })
}

/// Scores that are masked before they are scaled are masked after it before the pass.
fn masked_last(graph: &Value) -> Value {
    let mut changed = graph.clone();
    let nodes = array(&mut changed["nodes"]);
    let scaled = |at: &usize| nodes[*at]["op"] == "scale" && *at > 0 && nodes[*at - 1]["op"] == "mask";
    if let Some(at) = (0..nodes.len()).find(scaled) {
        let (mut mask, mut scale) = (nodes[at - 1].clone(), nodes[at].clone());
        for side in ["in", "out"] {
            let kept = mask[side].clone();
            mask[side] = scale[side].clone();
            scale[side] = kept;
        }
        (nodes[at - 1], nodes[at]) = (scale, mask);
    }
    right(&changed)
}

const VARIANTS: &[(&str, Pass)] = &[
    ("the reference's", right),
    ("other names", |graph| renamed(&right(graph))),
    ("queries are scaled beforehand", scaled_queries),
    ("softmax that is written out is found too", gathered),
    ("masks are found before scales too", masked_last),
];

#[test]
fn faulty_passes_are_rejected_and_other_right_ones_are_not() {
    let requests = requests();
    assert!(requests.len() >= 36, "{} requests", requests.len());
    let references: Vec<Value> = requests.iter().map(|(_, request)| right(&request["graph"])).collect();
    let rejected = |pass: Pass, is_variant: bool| -> Vec<String> {
        let judged = requests.iter().zip(&references).filter_map(|((id, request), reference)| {
            let answer = pass(&request["graph"]);
            // A fault that does not show here.
            if !is_variant && answer == *reference {
                return None;
            }
            let answer = answer.to_string();
            let (expected, found) = judge_transform(request.to_string().as_bytes(), &answer).err()?;
            Some(format!("{id}: expected {expected}, found {found}"))
        });
        judged.collect()
    };
    for (name, pass) in VARIANTS {
        assert_eq!(rejected(*pass, true), Vec::<String>::new(), "{name}");
    }
    let few = FAULTS
        .iter()
        .map(|(name, reason, pass)| (name, reason, rejected(*pass, false)))
        .filter(|(_, reason, found)| found.iter().filter(|found| found.contains(**reason)).count() < 3);
    assert_eq!(
        few.collect::<Vec<_>>(),
        Vec::new(),
        "faults that fewer than three cases reject for what they are about"
    );
}
