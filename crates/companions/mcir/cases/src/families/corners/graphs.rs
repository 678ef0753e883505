//! Shapes of semantic graphs: which extents of which operand have to be which.

use serde_json::{Value, json};

use super::{Corner, accepted, rejected};
use crate::bases;

/// A graph of one node, with the extents of what it reads and of what it makes.
fn node(op: &str, ins: &[&[i64]], out: &[i64], more: Value) -> Value {
    let value = |shape: &[i64]| json!({"shape": shape, "dtype": "F32"});
    let names = ["a", "b", "c"];
    let inputs: Vec<&str> = names.into_iter().take(ins.len()).collect();
    let mut graph = json!({
        "values": {"y": value(out)}, "inputs": inputs, "outputs": ["y"],
        "nodes": [{"id": "node", "op": op, "in": inputs, "out": "y"}],
    });
    for (name, shape) in names.into_iter().zip(ins) {
        graph["values"][name] = value(shape);
    }
    if let (Some(node), Value::Object(more)) = (graph["nodes"][0].as_object_mut(), more) {
        node.extend(more);
    }
    graph
}

/// A pair of graphs that differ in the extents of the last operand.
type Pair = (
    &'static str,
    &'static str,
    Vec<&'static [i64]>,
    &'static [i64],
    &'static str,
    &'static [i64],
    &'static [i64],
);

/// Op, name of the accepted graph, operands but the last one, the last one, name of the rejected graph, its last one, the result.
const fn pair(
    op: &'static str,
    good: &'static str,
    ins: Vec<&'static [i64]>,
    last: &'static [i64],
    bad: &'static str,
    other: &'static [i64],
    out: &'static [i64],
) -> Pair {
    (op, good, ins, last, bad, other, out)
}

/// A copy of 2^61 elements.
fn huge(dtype: &str) -> Value {
    let shape: &[i64] = &[1 << 30, 1 << 30, 2];
    let mut graph = node("copy", &[shape], shape, json!({}));
    for name in ["a", "y"] {
        graph["values"][name]["dtype"] = json!(dtype);
    }
    graph
}

pub fn all() -> Vec<Corner> {
    let eps = || json!({"eps": [1, 1000]});
    let pairs: Vec<Pair> = vec![
        pair(
            "matmul",
            "three matrices by one",
            vec![&[3, 4, 5]],
            &[1, 5, 6],
            "three matrices by two",
            &[2, 5, 6],
            &[3, 4, 6],
        ),
        pair(
            "matmul",
            "three matrices by three",
            vec![&[3, 4, 5]],
            &[3, 5, 6],
            "three matrices by six",
            &[6, 5, 6],
            &[3, 4, 6],
        ),
        pair(
            "attention",
            "four heads on two of keys and of values",
            vec![&[4, 3, 2], &[2, 5, 2]],
            &[2, 5, 6],
            "four heads on two of keys and one of values",
            &[1, 5, 6],
            &[4, 3, 6],
        ),
        pair("add", "a row and a row", vec![&[1, 4]], &[1, 4], "a row and three rows", &[3, 4], &[1, 4]),
        pair("add", "a vector and a vector", vec![&[4]], &[4], "a vector and a row", &[1, 4], &[4]),
        pair(
            "max",
            "a column for each row",
            vec![&[3, 4]],
            &[3, 1],
            "a column for other rows",
            &[4, 1],
            &[3, 4],
        ),
        pair(
            "layer_norm",
            "a bias of a norm",
            vec![&[3, 4], &[4]],
            &[4],
            "a bias of a norm for each element",
            &[3, 4],
            &[3, 4],
        ),
        pair(
            "layer_norm",
            "a bias of a norm of one row",
            vec![&[1, 4], &[4]],
            &[4],
            "a bias of a norm with a column less",
            &[3],
            &[1, 4],
        ),
        pair(
            "rope",
            "sines for each half of a row",
            vec![&[3, 4], &[3, 2]],
            &[3, 2],
            "sines for each element",
            &[3, 4],
            &[3, 4],
        ),
        pair(
            "rope",
            "sines for each row",
            vec![&[2, 3, 4], &[3, 2]],
            &[3, 2],
            "sines for fewer rows",
            &[2, 2],
            &[2, 3, 4],
        ),
        pair("transpose", "a transposed matrix", vec![], &[4, 4], "a transposed vector", &[4], &[4, 4]),
        pair("mask", "a mask of matrices", vec![], &[2, 4, 4], "a mask of a vector", &[4], &[2, 4, 4]),
    ];
    let mut all = Vec::new();
    for (op, good, ins, last, bad, other, out) in pairs {
        let with = |last: &'static [i64], out: &[i64]| {
            let all: Vec<&[i64]> = ins.iter().copied().chain([last]).collect();
            node(op, &all, out, if op == "layer_norm" { eps() } else { json!({}) })
        };
        all.push(accepted(good, &["MCI-18"], with(last, out), &[]));
        // What has one operand has its result in the shape of that, so that nothing else is wrong.
        let out = if ins.is_empty() { other } else { out };
        all.push(rejected(bad, "IG06", "/nodes/0", with(other, out), good));
    }
    let angles = |rows: i64| node("rope", &[&[3, 4], &[rows, 2], &[rows, 2]], &[3, 4], json!({}));
    let fours = |first: &[i64]| {
        let [a, b, y] = [[3, 4], [4, 5], [3, 5]].map(|last| [first, &last].concat());
        node("matmul", &[&a, &b], &y, json!({}))
    };
    let mut itself = node("copy", &[&[4]], &[4], json!({}));
    let copy = itself.clone();
    itself["nodes"][0]["in"] = json!(["y"]);
    let mut document = bases::find("copy").map(|base| base.document.clone()).unwrap_or_default();
    document["nodes"] = json!(3);
    all.extend([
        accepted("angles for each row", &["MCI-18"], angles(3), &[]),
        rejected("angles for fewer rows", "IG06", "/nodes/0", angles(2), "angles for each row"),
        accepted("products of two matrices each", &["MCI-18"], fours(&[2]), &[]),
        rejected(
            "products of two by two matrices",
            "IG06",
            "/nodes/0",
            fours(&[2, 2]),
            "products of two matrices each",
        ),
        accepted("a node that reads an input", &["IG05"], copy, &[]),
        rejected(
            "a node that reads what it makes",
            "IG05",
            "/nodes/0/in/0",
            itself,
            "a node that reads an input",
        ),
        accepted("a graph value of 2^61 elements in two bytes each", &["IG01"], huge("F16"), &[]),
        rejected(
            "a graph value of 2^61 elements in four bytes each",
            "IG01",
            "/values/a/shape",
            huge("F32"),
            "a graph value of 2^61 elements in two bytes each",
        ),
        accepted("a document with nodes of its own", &["MCI-18"], document, &[]),
    ]);
    all
}
