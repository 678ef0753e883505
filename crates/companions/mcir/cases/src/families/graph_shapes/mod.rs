//! Shapes of semantic graphs (IG06): each operand and the result of each op in every wrong shape that a judge in a hurry would take.

mod tables;

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Library, Sink, words};
use serde_json::{Value, json};

use super::{PROFILE, cited};
use tables::{AXES, BINARY, Change, MATRICES, NORMS, PRODUCTS, REPEATED, Row, UNARY, row};

fn graph(row: &Row, changes: &[Change]) -> Value {
    let changed = |name: &str, shape: &[i64]| {
        let found = changes.iter().find(|(changed, _)| *changed == name);
        json!({"shape": found.map_or(shape, |(_, shape)| shape), "dtype": "F32"})
    };
    let inputs: Vec<&str> = ["a", "b", "c"].into_iter().take(row.ins.len()).collect();
    let mut node = json!({"id": "node", "op": row.op, "in": inputs, "out": "y"});
    match row.op {
        "reduce" => node["fn"] = json!("sum"),
        "scale" => node["by"] = json!([1, 2]),
        op if op.ends_with("_norm") => node["eps"] = json!([1, 1000]),
        _ => {}
    }
    if let Some(axis) = row.axis {
        let found = changes.iter().find(|(changed, _)| *changed == "axis");
        node["axis"] = json!(found.map_or(axis, |(_, axis)| axis[0]));
    }
    let mut values = json!({"y": changed("y", row.out)});
    for (name, shape) in inputs.iter().zip(row.ins) {
        values[name] = changed(name, shape);
    }
    json!({"values": values, "inputs": inputs, "outputs": ["y"], "nodes": [node]})
}

fn push(sink: &mut Sink, name: &str, graph: &Value, wrong: Option<(usize, &str)>) -> Result<()> {
    let id = |name: &str| format!("{}/{}", sink.family(), words(name));
    let (expect, cites, twin) = match wrong {
        Some((node, twin)) => {
            let at = format!("/nodes/{node}");
            (json!({"verdict": "reject", "rules": ["IG06"], "at": at}), "IG06", Some(id(twin)))
        }
        None => (json!({"verdict": "accept", "warnings": []}), "MCI-18", None),
    };
    let text = graph.to_string();
    let (id, document) = (id(name), Document::Text(&text));
    sink.push_as("validate", id, name, PROFILE, &cited(&[cites])?, &document, expect, twin)
}

/// A node: its op, and the shapes of what it reads and makes.
type Shaped<'op> = (&'op str, Vec<Vec<i64>>, Vec<i64>);

/// A graph of nodes that have no value in common.
fn together(nodes: &[Shaped<'_>]) -> Value {
    let mut graph = json!({"values": {}, "inputs": [], "outputs": [], "nodes": []});
    for (number, (op, ins, out)) in nodes.iter().enumerate() {
        let mut names = Vec::new();
        for (operand, shape) in ins.iter().enumerate() {
            let name = format!("x{number}.{operand}");
            graph["values"][&name] = json!({"shape": shape, "dtype": "BF16"});
            names.push(name);
        }
        let made = format!("y{number}");
        graph["values"][&made] = json!({"shape": out, "dtype": "BF16"});
        let of = ins.iter().map(|shape| format!("{shape:?}")).collect::<Vec<_>>().join(" and ");
        let mut node = json!({"id": format!("{number}: {op} of {of}"), "op": op, "in": names, "out": made});
        match *op {
            "reduce" => (node["fn"], node["axis"]) = (json!("max"), json!(out.len() - 1)),
            "softmax" => node["axis"] = json!(out.len() - 1),
            "scale" => node["by"] = json!([1, 2]),
            op if op.ends_with("_norm") => node["eps"] = json!([1, 1000]),
            _ => {}
        }
        for (list, names) in [("inputs", names), ("outputs", vec![made])] {
            graph[list]
                .as_array_mut()
                .into_iter()
                .for_each(|list| list.extend(names.iter().map(|name| json!(name))));
        }
        graph["nodes"].as_array_mut().into_iter().for_each(|nodes| nodes.push(node.clone()));
    }
    graph
}

/// Every op that takes any axes in front, with so many there.
fn in_front(count: usize) -> Value {
    let with = |last: &[i64]| [&vec![1; count - 1][..], &[2], last].concat();
    let mut nodes = vec![
        ("transpose", vec![with(&[3, 4])], with(&[4, 3])),
        ("mask", vec![with(&[3, 4])], with(&[3, 4])),
        ("rope", vec![with(&[3, 4]), vec![3, 2], vec![3, 2]], with(&[3, 4])),
        ("rms_norm", vec![with(&[4]), vec![4]], with(&[4])),
        ("layer_norm", vec![with(&[4]), vec![4], vec![4]], with(&[4])),
        ("softmax", vec![with(&[4])], with(&[4])),
        ("reduce", vec![with(&[4])], with(&[1])),
    ];
    for op in ["copy", "neg", "exp", "rsqrt", "silu", "gelu", "scale"] {
        nodes.push((op, vec![with(&[4])], with(&[4])));
    }
    for op in ["add", "sub", "mul", "div", "max"] {
        nodes.push((op, vec![with(&[4]), with(&[1])], with(&[4])));
    }
    together(&nodes)
}

/// A row of copies, of which the last one may have another shape.
fn chain(nodes: usize, last: &[i64]) -> Value {
    let mut graph = json!({"values": {}, "inputs": ["v0"], "outputs": [format!("v{nodes}")], "nodes": []});
    for number in 0..=nodes {
        let shape = if number == nodes { last } else { &[2, 3] };
        graph["values"][format!("v{number}")] = json!({"shape": shape, "dtype": "F32"});
    }
    let node = |number: usize| json!({"id": format!("n{number}"), "op": "copy", "in": [format!("v{number}")], "out": format!("v{}", number + 1)});
    graph["nodes"] = (0..nodes).map(node).collect();
    graph
}

/// All of them.
///
/// # Errors
/// A case that is not well formed.
pub fn shapes(_: &Library, sink: &mut Sink) -> Result<()> {
    for row in [PRODUCTS, MATRICES, NORMS, AXES].into_iter().flatten() {
        push(sink, row.name, &graph(row, &[]), None)?;
        for (what, changes) in row.wrong {
            push(sink, &format!("{}: {what}", row.name), &graph(row, changes), Some((0, row.name)))?;
        }
    }
    for op in ["copy", "neg", "exp", "rsqrt", "silu", "gelu", "scale"] {
        let row = row(op, op, &[&[2, 3, 4]], &[2, 3, 4], UNARY);
        push(sink, op, &graph(&row, &[]), None)?;
        for (what, changes) in row.wrong {
            push(sink, &format!("{op}: {what}"), &graph(&row, changes), Some((0, op)))?;
        }
    }
    for op in ["add", "sub", "mul", "div", "max"] {
        let row = row(op, op, &[&[2, 3, 4], &[2, 3, 4]], &[2, 3, 4], BINARY);
        push(sink, op, &graph(&row, &[]), None)?;
        for (what, changes) in row.wrong {
            push(sink, &format!("{op}: {what}"), &graph(&row, changes), Some((0, op)))?;
        }
        let repeated = |shape: &&[i64]| (op, vec![vec![2, 3, 4], shape.to_vec()], vec![2, 3, 4]);
        let mut nodes: Vec<_> = REPEATED.iter().map(repeated).collect();
        nodes.push((op, vec![vec![2, 3, 4, 5, 6], vec![1; 5]], vec![2, 3, 4, 5, 6]));
        push(sink, &format!("{op} with everything that is repeated"), &together(&nodes), None)?;
    }
    let numbers: Vec<_> = ["copy", "scale"].map(|op| (op, vec![vec![]], vec![])).to_vec();
    push(sink, "numbers without axes", &together(&numbers), None)?;
    for count in [1, 2, 3, 8, 62] {
        let name = format!("{count} axes in front");
        push(sink, &name, &in_front(count), None)?;
    }
    push(sink, "300 nodes", &chain(300, &[2, 3]), None)?;
    push(sink, "300 nodes: the last one wrong", &chain(300, &[3, 2]), Some((299, "300 nodes")))
}
