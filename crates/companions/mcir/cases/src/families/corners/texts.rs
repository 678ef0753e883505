//! Members and numbers.

use serde_json::{Value, json};

use super::{Corner, accepted, rejected};

/// A part of a tensor that goes through a function into another one, with slots where a document has some.
fn document() -> Value {
    json!({
        "values": {
            "X": {"shape": [8, 4], "dtype": "F16", "residency": "global"},
            "Y": {"shape": [8, 4], "dtype": "F16", "residency": "global"},
            "x": {"shape": [8, 4], "dtype": "F16", "residency": "shared"},
            "y": {"shape": [8, 4], "dtype": "F16", "residency": "register"},
        },
        "inputs": ["X"], "outputs": ["Y"], "boundaries": [{"value": "Y"}],
        "residency": [
            {"memory": "shared", "values": ["x"], "lifetime": "iteration"}, {"memory": "register", "values": ["y"], "lifetime": "node"},
        ],
        "regions": [{"id": "r", "inputs": ["X"], "outputs": ["Y"], "streaming": {
            "stream": {"axis": "j", "to": [1]}, "state": [],
            "tile": {"tile_shape": {"j": 1}, "blocks": {}, "each": [
                {"id": "load", "op": "LoadTile", "in": ["X"], "out": ["x"], "at": ["j", 0]},
                {"id": "mask", "op": "Compute", "fn": "mask", "rows": 0, "columns": 0, "in": ["x"], "out": ["y"]},
                {"id": "store", "op": "StoreTile", "in": ["y"], "out": ["Y"], "at": ["j", 0]},
            ]},
        }}],
    })
}

/// The document with something else at a place.
fn with(pointer: &str, value: Value) -> Value {
    let mut document = document();
    let (parent, member) = pointer.rsplit_once('/').unwrap_or_default();
    if let Some(parent) = document.pointer_mut(parent) {
        match member.parse::<usize>() {
            Ok(place) if parent.is_array() => parent[place] = value,
            _ => parent[member] = value,
        }
    }
    document
}

const STREAMING: &str = "/regions/0/streaming";

/// Without a stream: its axis stands in no index.
fn at_once() -> Value {
    let mut document = with(&format!("{STREAMING}/stream"), Value::Null);
    let tile = &mut document["regions"][0]["streaming"]["tile"];
    tile["tile_shape"] = json!({});
    for node in [0, 2] {
        tile["each"][node]["at"] = json!([0, 0]);
    }
    document
}

/// The document with another function in place of the mask, which has a direction, or none.
fn directed(function: &str, direction: Option<Value>) -> Value {
    let is_binary = ["add", "div", "max"].contains(&function);
    let ins = if is_binary { json!(["x", "x"]) } else { json!(["x"]) };
    let mut node = json!({"id": "node", "op": "Compute", "fn": function, "in": ins, "out": ["y"]});
    if let Some(direction) = direction {
        node["along"] = direction;
    }
    with(&format!("{STREAMING}/tile/each/1"), node)
}

/// A tile of a huge tensor.
fn huge(dtype: &str) -> Value {
    let shape = json!([1 << 30, 1 << 30, 2]);
    let tensor = |shape: &Value| json!({"shape": shape, "dtype": dtype, "residency": "global"});
    json!({
        "values": {"X": tensor(&shape), "Y": tensor(&json!([2])), "x": {"shape": [2], "dtype": dtype, "residency": "shared"}},
        "inputs": ["X"], "outputs": ["Y"], "boundaries": [{"value": "Y"}],
        "residency": [{"memory": "shared", "values": ["x"], "lifetime": "block"}],
        "regions": [{"id": "r", "inputs": ["X"], "outputs": ["Y"], "streaming": {"tile": {"tile_shape": {},
            "begin": [{"id": "load", "op": "LoadTile", "in": ["X"], "out": ["x"], "at": [0, 0, 0]}],
            "end": [{"id": "store", "op": "StoreTile", "in": ["x"], "out": ["Y"], "at": [0]}]}}}],
    })
}

/// A tile of 2^20 elements in two slots.
fn large() -> Value {
    let mut document = document();
    for name in ["X", "Y", "x", "y"] {
        document["values"][name]["shape"] = json!([1024, 1024]);
    }
    document["values"]["x"]["buffers"] = json!(2);
    document
}

pub fn all() -> Vec<Corner> {
    let each = format!("{STREAMING}/tile/each");
    let good = "a tile through a mask";
    let mut others = document();
    for (node, members) in [
        (0, json!({"version": "none", "axis": "j", "by": 0})),
        (1, json!({"at": 3, "wait": true, "along": 5, "by": [0]})),
        (2, json!({"fn": 7, "rows": {}})),
    ] {
        if let (Some(node), Value::Object(members)) =
            (others.pointer_mut(&format!("{each}/{node}")).and_then(Value::as_object_mut), members)
        {
            node.extend(members);
        }
    }
    let along = format!("{each}/1/along");
    let mut directions = vec![accepted("a sum without a direction", &["MCI-06"], directed("add", None), &[])];
    for (name, rule, function, direction) in [
        ("a sum with a direction of null", "S04", "add", Value::Null),
        ("a quotient with a direction of null", "S04", "div", Value::Null),
        ("a maximum with a direction of null", "S04", "max", Value::Null),
        ("a sum with a direction by number", "S04", "add", json!(0)),
        ("a sum with a direction that is none", "S05", "add", json!("diagonal")),
    ] {
        let document = directed(function, Some(direction));
        directions.push(rejected(name, rule, &along, document, "a sum without a direction"));
    }
    for (name, function, direction) in [
        ("an exponential with a direction", "exp", json!("rows")),
        ("an exponential with a direction of null", "exp", Value::Null),
        ("a copy with a direction of null", "copy", Value::Null),
        ("a negation with a direction that is none", "neg", json!("diagonal")),
        ("a root with a direction by number", "rsqrt", json!(1)),
    ] {
        directions.push(accepted(name, &["MCI-05", "MCI-06"], directed(function, Some(direction)), &[]));
    }
    let mut tensors = with("/values/X/buffers", json!(3));
    tensors["values"]["Y"]["buffers"] = json!(64);
    let mut all = vec![
        accepted(good, &["MCI-01"], document(), &[]),
        accepted("a window of null", &["MCI-06"], with(&format!("{each}/1/window"), Value::Null), &[]),
        accepted("a stream of null, and a load that does not move", &["MCI-01", "IW04"], at_once(), &[]),
        accepted("members of other ops", &["MCI-01", "MCI-05"], others, &[]),
        rejected(
            "blocks of null",
            "S04",
            &format!("{STREAMING}/tile/blocks"),
            with(&format!("{STREAMING}/tile/blocks"), Value::Null),
            good,
        ),
        rejected(
            "an axis of a stream by number",
            "S04",
            &format!("{STREAMING}/stream/axis"),
            with(&format!("{STREAMING}/stream/axis"), json!(3)),
            good,
        ),
        rejected(
            "an extent of 2^63 - 1",
            "IS01",
            "/values/X/shape/0",
            with("/values/X/shape/0", json!(i64::MAX)),
            good,
        ),
        accepted("slots of tensors", &["MCI-02", "IW02"], tensors, &[]),
        rejected(
            "no slots of a tensor",
            "IS01",
            "/values/X/buffers",
            with("/values/X/buffers", json!(0)),
            "slots of tensors",
        ),
        accepted("a tensor of 2^61 elements in two bytes each", &["IS01"], huge("F16"), &[]),
        rejected(
            "a tensor of 2^61 elements in four bytes each",
            "IS01",
            "/values/X/shape",
            huge("F32"),
            "a tensor of 2^61 elements in two bytes each",
        ),
        accepted("a tile of 2^20 elements in two slots", &["IS01"], large(), &["IW02"]),
    ];
    all.extend(directions);
    all
}
