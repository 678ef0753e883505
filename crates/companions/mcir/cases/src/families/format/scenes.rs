//! Documents in which each member stands, and each list has a second entry.

use megakernel_corpus::builder::{Error, Result};
use serde_json::{Value, json};

use super::Scene;
use crate::build::{Draft, Kernel, Tile};

const EVERY: &str = r#"{
"values": {
  "XX": {"shape": [8, 8, 2], "dtype": "F32", "residency": "global", "buffers": 3}, "WW": {"shape": [8, 8], "dtype": "F32", "residency": "global"}, "RR": {"shape": [8], "dtype": "F32", "residency": "global"},
  "MM": {"shape": [8], "dtype": "F32", "residency": "global"}, "YY": {"shape": [8], "dtype": "F32", "residency": "global"}, "ZZ": {"shape": [8], "dtype": "F32", "residency": "global"}, "NN": {"shape": [8], "dtype": "F32", "residency": "global"},
  "x": {"shape": [4, 4, 2], "dtype": "F32", "residency": "shared", "buffers": 2}, "w": {"shape": [4, 4], "dtype": "F32", "residency": "shared", "buffers": 2}, "r": {"shape": [4], "dtype": "F32", "residency": "shared"},
  "g": {"shape": [4, 4], "dtype": "F32", "residency": "register"}, "a": {"shape": [4, 4], "dtype": "F32", "residency": "register"}, "b": {"shape": [4, 4], "dtype": "F32", "residency": "register"},
  "c": {"shape": [4, 4], "dtype": "F32", "residency": "register"}, "d": {"shape": [4, 4], "dtype": "F32", "residency": "register"}, "p": {"shape": [4, 4], "dtype": "F32", "residency": "register"},
  "q": {"shape": [4], "dtype": "F32", "residency": "register"}, "t": {"shape": [4], "dtype": "F32", "residency": "register"},
  "m": {"shape": [4], "dtype": "F32", "residency": "register"}, "l": {"shape": [4], "dtype": "F32", "residency": "register"}, "s": {"shape": [4], "dtype": "F32", "residency": "register"},
  "e": {"shape": [4], "dtype": "F32", "residency": "register"}, "y": {"shape": [8], "dtype": "F32", "residency": "shared"}, "o": {"shape": [8], "dtype": "F32", "residency": "shared"},
  "z": {"shape": [8], "dtype": "F32", "residency": "register"}, "n": {"shape": [8], "dtype": "F32", "residency": "register"}},
"inputs": ["XX", "WW", "RR"], "outputs": ["ZZ", "NN"],
"boundaries": [{"value": "MM", "location": "global"}, {"value": "YY", "location": "global"}, {"value": "ZZ"}, {"value": "NN"}],
"residency": [
  {"memory": "shared", "values": ["x", "w"], "lifetime": "iteration"}, {"memory": "register", "values": ["g", "a", "b", "c", "d", "p", "q", "t", "e"], "lifetime": "node"},
  {"memory": "shared", "values": ["r", "y", "o"], "lifetime": "block"}, {"memory": "register", "values": ["m", "l", "s", "z", "n"], "lifetime": "block"}],
"target": {"shared_bytes": 4096, "register_bytes": 4096},
"regions": [
 {"id": "rows", "inputs": ["XX", "WW", "RR"], "outputs": ["MM", "YY"], "streaming": {
  "stream": {"axis": "j", "from": [0, [[1, "i"], -8]], "to": [8, ["i", 8]]},
  "state": [{"value": "m", "init": "-inf"}, {"value": "l", "init": 0}, {"value": "s", "init": 0}],
  "tile": {"tile_shape": {"i": 4, "j": 4}, "blocks": {"i": 8},
   "begin": [
    {"id": "factors", "op": "LoadTile", "in": ["RR"], "out": ["r"], "at": ["i"]},
    {"id": "x0", "op": "Prefetch", "in": ["XX"], "out": ["x"], "at": ["i", "j", 0], "version": 0},
    {"id": "w0", "op": "Prefetch", "in": ["WW"], "out": ["w"], "at": [["i", 0], [[1, "j"]]], "version": 0}],
   "each": [
    {"id": "x1", "op": "Prefetch", "in": ["XX"], "out": ["x"], "at": ["i", "j", 0], "version": 1},
    {"id": "w1", "op": "Prefetch", "in": ["WW"], "out": ["w"], "at": ["i", "j"], "version": 1},
    {"id": "wait", "op": "Barrier", "wait": [["x", 0], ["w", 0]]},
    {"id": "largest", "op": "Reduce", "fn": "max", "axis": 2, "in": ["x"], "out": ["g"]},
    {"id": "scale", "op": "Compute", "fn": "scale", "by": [1, 8], "in": ["g"], "out": ["a"]},
    {"id": "mask", "op": "Compute", "fn": "mask", "rows": ["i", 8], "columns": [[1, "j"], [0, "i"]], "window": 8, "in": ["a"], "out": ["b"]},
    {"id": "add", "op": "Compute", "fn": "add", "in": ["b", "w"], "out": ["c"]},
    {"id": "rows", "op": "Compute", "fn": "mul", "along": "rows", "in": ["c", "r"], "out": ["d"]},
    {"id": "softmax", "op": "UpdateState", "fn": "online_softmax", "in": ["d", "m", "l"], "out": ["m", "l", "p", "q"]},
    {"id": "sum", "op": "Reduce", "fn": "sum", "axis": 1, "in": ["p"], "out": ["t"]},
    {"id": "keep", "op": "UpdateState", "fn": "scale_add", "in": ["s", "q", "t"], "out": ["s"]}],
   "end": [
    {"id": "divide", "op": "Compute", "fn": "div", "in": ["s", "l"], "out": ["e"]},
    {"id": "e", "op": "StoreTile", "in": ["e"], "out": ["YY"], "at": ["i"]},
    {"id": "m", "op": "StoreTile", "in": ["m"], "out": ["MM"], "at": ["i"]}]}}},
 {"id": "all", "inputs": ["MM", "YY"], "outputs": ["ZZ", "NN"], "streaming": {
  "stream": null, "tile": {"tile_shape": {"k": 8}, "blocks": {"k": 8},
   "begin": [
    {"id": "y", "op": "LoadTile", "in": ["YY"], "out": ["y"], "at": ["k"]},
    {"id": "o", "op": "LoadTile", "in": ["MM"], "out": ["o"], "at": [["k", "k", [-1, "k"]]]},
    {"id": "largest", "op": "Compute", "fn": "max", "in": ["y", "o"], "out": ["z"]}],
   "each": [{"id": "none", "op": "Barrier", "wait": []}],
   "end": [
    {"id": "rest", "op": "Compute", "fn": "sub", "in": ["z", "o"], "out": ["n"]},
    {"id": "z", "op": "StoreTile", "in": ["z"], "out": ["ZZ"], "at": ["k"]},
    {"id": "n", "op": "StoreTile", "in": ["n"], "out": ["NN"], "at": ["k"]}]}}}]}"#;

const GRAPH: &str = r#"{
"values": {
  "a": {"shape": [2, 4, 6], "dtype": "F32"}, "b": {"shape": [2, 6, 4], "dtype": "F32"}, "v": {"shape": [4], "dtype": "F32"}, "c": {"shape": [4, 2], "dtype": "F32"}, "s": {"shape": [4, 2], "dtype": "F32"},
  "h0": {"shape": [2, 4, 4], "dtype": "F32"}, "h1": {"shape": [2, 4, 4], "dtype": "F32"}, "h2": {"shape": [2, 4, 4], "dtype": "F32"}, "h3": {"shape": [2, 4, 4], "dtype": "F32"}, "h4": {"shape": [2, 4, 4], "dtype": "F32"},
  "h5": {"shape": [2, 4, 4], "dtype": "F16"}, "h6": {"shape": [2, 4, 4], "dtype": "F32"}, "h7": {"shape": [2, 4, 4], "dtype": "F32"}, "h8": {"shape": [2, 4, 4], "dtype": "F32"},
  "r": {"shape": [2, 1, 4], "dtype": "F32"}, "y": {"shape": [2, 4, 4], "dtype": "BF16"}},
"inputs": ["a", "b", "v", "c", "s"], "outputs": ["y", "r"],
"nodes": [
  {"id": "product", "op": "matmul", "in": ["a", "b"], "out": "h0"},
  {"id": "transposed", "op": "transpose", "in": ["h0"], "out": "h1"},
  {"id": "scaled", "op": "scale", "by": [1, 2], "in": ["h1"], "out": "h2"},
  {"id": "sum", "op": "add", "in": ["h2", "v"], "out": "h3"},
  {"id": "masked", "op": "mask", "offset": 1, "window": 3, "in": ["h3"], "out": "h4"},
  {"id": "weights", "op": "softmax", "axis": 2, "in": ["h4"], "out": "h5"},
  {"id": "largest", "op": "reduce", "fn": "max", "axis": 1, "in": ["h5"], "out": "r"},
  {"id": "root", "op": "rms_norm", "eps": [1, 100], "in": ["h5", "v"], "out": "h6"},
  {"id": "norm", "op": "layer_norm", "eps": [1, 100], "in": ["h6", "v", "v"], "out": "h7"},
  {"id": "turned", "op": "rope", "in": ["h7", "c", "s"], "out": "h8"},
  {"id": "attended", "op": "attention", "by": [1, 2], "mask": {"offset": 1, "window": 3}, "in": ["h8", "h7", "h6"], "out": "y"}]}"#;

const STATES: &str = r#"{
"values": {
  "X": {"shape": [8], "dtype": "F32", "residency": "global"}, "Y": {"shape": [4], "dtype": "F32", "residency": "global"},
  "x": {"shape": [4], "dtype": "F32", "residency": "shared", "buffers": 2}, "s": {"shape": [4], "dtype": "F32", "residency": "register"}, "u": {"shape": [4], "dtype": "F32", "residency": "register"}},
"inputs": ["X"], "outputs": ["Y"], "boundaries": [{"value": "Y"}],
"residency": [{"memory": "shared", "values": ["x"], "lifetime": "iteration"}, {"memory": "register", "values": ["s", "u"], "lifetime": "block"}],
"regions": [{"id": "sums", "inputs": ["X"], "outputs": ["Y"], "streaming": {
  "stream": {"axis": "j", "to": [8]}, "state": [{"value": "s", "init": 0}, {"value": "u", "init": "-inf"}],
  "tile": {"tile_shape": {"j": 4},
   "begin": [{"id": "first", "op": "Prefetch", "in": ["X"], "out": ["x"], "at": ["j"], "version": 0}],
   "each": [
    {"id": "next", "op": "Prefetch", "in": ["X"], "out": ["x"], "at": ["j"], "version": 1},
    {"id": "wait", "op": "Barrier", "wait": [["x", 0]]},
    {"id": "sum", "op": "UpdateState", "fn": "add", "in": ["s", "x"], "out": ["s"]},
    {"id": "most", "op": "UpdateState", "fn": "max", "in": ["u", "s"], "out": ["u"]}],
   "end": [{"id": "store", "op": "StoreTile", "in": ["u"], "out": ["Y"], "at": [0]}]}}}]}"#;

fn scene(name: &'static str, summary: &'static str, document: &str) -> Result<Scene> {
    let document = serde_json::from_str(document).map_err(|error| Error(format!("{name}: {error}")))?;
    Ok(Scene { name, summary, cites: &[], document })
}

/// Each member of a document, and two of whatever can be two.
pub fn every() -> Result<Scene> {
    scene("every-member", "a document with every member, and two of what can be two", EVERY)
}

/// Each member of a semantic graph.
pub fn graph() -> Result<Scene> {
    scene("every-graph-member", "a semantic graph with every member", GRAPH)
}

/// Two states, of which one reads the other.
pub fn states() -> Result<Scene> {
    scene("two-states", "a sum, and the largest of its partial sums", STATES)
}

/// The largest number of most members.
pub const MOST: i64 = 2_147_483_647;

/// Every number at an end of its range.
pub fn largest() -> Scene {
    let mut draft = Draft::default();
    draft.input("X", &[1, MOST, 1], "F32");
    draft.input("W", &[MOST], "F32");
    draft.output("Y", &[1, 1], "F32");
    draft.output("Z", &[1], "F32");
    draft.tiles(&[
        Tile("x", &[1, 1], "F32", "shared", "iteration"),
        Tile("a", &[1, 1], "F32", "register", "node"),
        Tile("b", &[1, 1], "F32", "register", "node"),
        Tile("c", &[1, 1], "F32", "register", "node"),
        Tile("d", &[1, 1], "F32", "register", "node"),
        Tile("s", &[1, 1], "F32", "register", "block"),
        Tile("w", &[1], "F32", "shared", "node"),
        Tile("u", &[1], "F32", "register", "block"),
    ]);
    draft.buffers("x", 64);
    draft.target(MOST, MOST);
    let mut kernel = Kernel::new("once", &[("i", MOST, MOST)]);
    let mut from = vec![json!(-MOST); 64];
    from[63] = json!(MOST - 1);
    let mut to = vec![json!(MOST); 64];
    to[62] = json!([[MOST, "i"], [-MOST, "i"], MOST]);
    kernel.stream("j", MOST, Some(json!(from)), json!(to));
    kernel.state("s", json!(MOST));
    // The last element of the tensor.
    let at = json!([[[MOST, "i"], MOST, -MOST], "j", [[-MOST, "i"]]]);
    for version in 0..63 {
        kernel.prefetch(&format!("x{version}"), "X", "x", at.clone(), version);
    }
    kernel.wait("first", json!((0..63).map(|version| json!(["x", version])).collect::<Vec<_>>()));
    kernel.each();
    kernel.prefetch("x63", "X", "x", at, 63);
    kernel.wait("wait", json!([["x", 63]]));
    kernel.compute("up", "scale", &["x"], "a", json!({"by": [MOST, MOST]}));
    kernel.compute("down", "scale", &["a"], "b", json!({"by": [-MOST, MOST]}));
    kernel.compute("wide", "mask", &["b"], "c", json!({"rows": MOST, "columns": -MOST, "window": MOST}));
    let least = json!({"rows": [-MOST, [MOST, "i"]], "columns": [MOST, [-MOST, "i"]], "window": 1});
    kernel.compute("narrow", "mask", &["c"], "d", least);
    kernel.update("keep", "add", &["s", "d"], &["s"]);
    kernel.end();
    kernel.store("store", "s", "Y", json!([0, ["i"]]));
    draft.push(kernel);
    let mut kernel = Kernel::new("never", &[]);
    kernel.stream("j", MOST, Some(json!([MOST])), json!([MOST]));
    kernel.state("u", json!(-MOST));
    kernel.each();
    kernel.load("load", "W", "w", json!([["j", -MOST]]));
    kernel.update("keep", "max", &["u", "w"], &["u"]);
    kernel.end();
    kernel.store("store", "u", "Z", json!([0]));
    draft.push(kernel);
    let summary = "numbers at the ends of their ranges: extents, steps, coefficients, versions, slots, bytes";
    Scene { name: "largest-numbers", summary, cites: &["IS01", "IS11", "MCI-03"], document: draft.value() }
}

/// A tensor of 2^62 bytes, with slots that mean nothing, and a tile of 2^20 elements in each of 64 slots.
pub fn large() -> Scene {
    let mut draft = Draft::default();
    draft.input("X", &[1 << 30, 1 << 30], "F32");
    draft.buffers("X", 64);
    draft.output("Y", &[1024, 1024], "F32");
    draft.tiles(&[
        Tile("x", &[1024, 1024], "F32", "shared", "iteration"),
        Tile("s", &[1024, 1024], "F32", "register", "block"),
    ]);
    draft.buffers("x", 64);
    let mut kernel = Kernel::new("sum", &[]);
    kernel.stream("j", 1024, None, json!([4096]));
    kernel.state("s", json!(0));
    for version in 0..63 {
        kernel.prefetch(&format!("x{version}"), "X", "x", json!(["j", 0]), version);
    }
    kernel.each();
    kernel.prefetch("x63", "X", "x", json!(["j", 0]), 63);
    kernel.wait("wait", json!([["x", 0]]));
    kernel.update("keep", "add", &["s", "x"], &["s"]);
    kernel.end();
    kernel.store("store", "s", "Y", json!([0, 0]));
    draft.push(kernel);
    let summary = "a tensor of 2^62 bytes, and a tile of 2^20 elements";
    Scene { name: "largest-values", summary, cites: &["IS01", "MCI-02"], document: draft.value() }
}

/// Copies of tensors of this many axes.
pub fn ranks() -> Scene {
    let mut draft = Draft::default();
    let mut kernel = Kernel::new("copies", &[]);
    for rank in [0, 8, 9, 16, 17, 32, 33, 63, 64] {
        let [x, y, tile] = ["X", "Y", "x"].map(|name| format!("{name}{rank}"));
        let (shape, at) = (vec![1; rank], vec![0; rank]);
        draft.input(&x, &shape, "F32");
        draft.output(&y, &shape, "F32");
        draft.tiles(&[Tile(&tile, &shape, "F32", "shared", "block")]);
        kernel.load(&format!("load {rank}"), &x, &tile, json!(at));
        kernel.store(&format!("store {rank}"), &tile, &y, json!(at));
    }
    draft.push(kernel);
    let summary = "tensors and tiles of up to 64 axes";
    Scene { name: "most-axes", summary, cites: &["IS01"], document: draft.value() }
}

/// A graph with every number at an end of its range.
pub fn largest_graph() -> Scene {
    let value = |shape: &[i64]| json!({"shape": shape, "dtype": "F32"});
    let mut values = json!({"q": value(&[1, 1]), "v": value(&[1])});
    let mut nodes = Vec::new();
    let mut inputs = vec!["q".to_owned(), "v".to_owned()];
    let mut outputs = Vec::new();
    let mut add = |op: &str, operands: &[&str], shape: &[i64], members: Value| {
        let out = format!("y{}", nodes.len());
        values[&out] = value(shape);
        let mut node = json!({"id": out, "op": op, "in": operands, "out": out});
        if let (Some(node), Value::Object(members)) = (node.as_object_mut(), members) {
            node.extend(members);
        }
        nodes.push(node);
        outputs.push(out);
    };
    for by in [[MOST, MOST], [-MOST, MOST], [0, 1]] {
        add("scale", &["q"], &[1, 1], json!({"by": by}));
        add("attention", &["q", "q", "q"], &[1, 1], json!({"by": by, "mask": null}));
    }
    for (offset, window) in [(MOST, json!(MOST)), (-MOST, json!(1)), (MOST, json!(1)), (-MOST, Value::Null)] {
        let members = json!({"offset": offset, "window": window});
        add("mask", &["q"], &[1, 1], members.clone());
        add("attention", &["q", "q", "q"], &[1, 1], json!({"mask": members}));
    }
    add("attention", &["q", "q", "q"], &[1, 1], json!({"by": [-1, 1], "mask": {}}));
    for eps in [[0, 1], [MOST, MOST]] {
        add("rms_norm", &["q", "v"], &[1, 1], json!({"eps": eps}));
        add("layer_norm", &["q", "v", "v"], &[1, 1], json!({"eps": eps}));
    }
    let shapes: Vec<(String, Vec<i64>)> = [0, 8, 9, 63, 64]
        .map(|rank| (format!("axes{rank}"), vec![1; rank]))
        .into_iter()
        .chain([("long".to_owned(), vec![MOST]), ("middle".to_owned(), vec![1, MOST, 1])])
        .chain([("large".to_owned(), vec![1 << 30, 1 << 30])])
        .collect();
    for (name, shape) in &shapes {
        add("copy", &[name.as_str()], shape, json!({}));
    }
    for (name, shape) in shapes {
        values[&name] = value(&shape);
        inputs.push(name);
    }
    let document = json!({"values": values, "inputs": inputs, "outputs": outputs, "nodes": nodes});
    let summary = "numbers of a semantic graph at the ends of their ranges";
    Scene { name: "largest-graph-numbers", summary, cites: &["IG01", "MCI-18"], document }
}
