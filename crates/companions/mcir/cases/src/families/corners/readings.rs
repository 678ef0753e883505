//! Sentences that a reader can take in two ways: what they say of axes with one value, of states, of tiles that stand in two residency regions, and of graphs
//! where a document is asked for.

use serde_json::{Value, json};

use super::{Corner, accepted, rejected};
use crate::build::{Draft, Kernel, Tile};

/// A copy of eight elements, a tile in each iteration, beside a block axis with one value.
fn copied(from: Value, to: Value) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[8], "F32");
    draft.output("Y", &[8], "F32");
    draft.tiles(&[Tile("x", &[4], "F32", "register", "iteration")]);
    let mut kernel = Kernel::new("copy", &[("i", 8, 8)]);
    kernel.stream("j", 4, Some(json!([from])), json!([to]));
    kernel.each();
    kernel.load("load", "X", "x", json!(["j"]));
    kernel.store("store", "x", "Y", json!(["j"]));
    draft.push(kernel);
    draft.value()
}

/// A sum of tiles of a tensor, which a stream with these bounds goes through, in a block for each element of the result if there are several.
fn summed(extent: i64, [tile, result]: [i64; 2], from: Value, to: i64) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[extent], "F32");
    draft.output("Y", &[result], "F32");
    draft.tiles(&[
        Tile("x", &[tile], "F32", "register", "iteration"),
        Tile("sum", &[tile], "F32", "register", "block"),
    ]);
    let mut kernel = Kernel::new("sum", &[("i", 8, 8), ("k", result, tile)]);
    kernel.stream("j", 4, Some(json!([from])), json!([to]));
    kernel.state("sum", json!(0));
    kernel.each();
    kernel.load("load", "X", "x", json!(["j"]));
    kernel.update("keep", "add", &["sum", "x"], &["sum"]);
    kernel.end();
    kernel.store("store", "sum", "Y", json!(["k"]));
    draft.push(kernel);
    draft.value()
}

/// A state that is updated with tiles.
fn updated(function: &str, ins: &[&str]) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[8], "F32");
    draft.output("Y", &[4], "F32");
    draft.tiles(&[
        Tile("x", &[4], "F32", "register", "iteration"),
        Tile("z", &[4], "F32", "register", "iteration"),
        Tile("sum", &[4], "F32", "register", "block"),
    ]);
    let mut kernel = Kernel::new("sum", &[]);
    kernel.stream("j", 4, None, json!([8]));
    kernel.state("sum", json!(1));
    kernel.each();
    kernel.load("load", "X", "x", json!(["j"]));
    kernel.compute("exp", "exp", &["x"], "z", json!({}));
    kernel.update("keep", function, ins, &["sum"]);
    kernel.end();
    kernel.store("store", "sum", "Y", json!([0]));
    draft.push(kernel);
    draft.value()
}

/// A sum that is stored, and read in so many regions by way of the tile that is its state.
fn loaded_again(times: usize) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[8], "F32");
    draft.stored("P", &[4], "F32");
    draft.tiles(&[
        Tile("x", &[4], "F32", "register", "iteration"),
        Tile("sum", &[4], "F32", "register", "block"),
    ]);
    let mut kernel = Kernel::new("sum", &[]);
    kernel.stream("j", 4, None, json!([8]));
    kernel.state("sum", json!(0));
    kernel.each();
    kernel.load("load", "X", "x", json!(["j"]));
    kernel.update("keep", "add", &["sum", "x"], &["sum"]);
    kernel.end();
    kernel.store("store", "sum", "P", json!([0]));
    draft.push(kernel);
    for (region, tensor) in [("again", "Y"), ("once more", "Z")].into_iter().take(times) {
        draft.output(tensor, &[4], "F32");
        let mut kernel = Kernel::new(region, &[]);
        kernel.load("load", "P", "sum", json!([0]));
        kernel.end();
        kernel.store("store", "sum", tensor, json!([0]));
        draft.push(kernel);
    }
    draft.value()
}

/// A tile that is read in `end`, in these residency regions: memory and lifetime.
fn kept(regions: &[(&str, &str)]) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[4], "F32");
    draft.output("Y", &[4], "F32");
    draft.tiles(&[Tile("x", &[4], "F32", "register", "block")]);
    let mut kernel = Kernel::new("copy", &[]);
    kernel.load("load", "X", "x", json!([0]));
    kernel.end();
    kernel.store("store", "x", "Y", json!([0]));
    draft.push(kernel);
    let mut document = draft.value();
    let of =
        |&(memory, lifetime): &(&str, &str)| json!({"memory": memory, "values": ["x"], "lifetime": lifetime});
    document["residency"] = regions.iter().map(of).collect();
    document
}

/// A graph, which is judged, and nothing else.
fn graph() -> Value {
    let value = json!({"shape": [2], "dtype": "F32"});
    json!({
        "values": {"X": value, "Y": value}, "inputs": ["X"], "outputs": ["Y"],
        "nodes": [{"id": "exp", "op": "exp", "in": ["X"], "out": "Y"}],
    })
}

pub fn all() -> Vec<Corner> {
    let store = "/regions/0/streaming/tile/each/1/at";
    let node = |place: usize| format!("/regions/0/streaming/tile/each/{place}");
    let several = |name, at: &str, document| {
        let mut corner = rejected(name, "IL01", at, document, "a tile that is kept for a block");
        corner.expect["rules"] = json!(["IL01", "IL02"]);
        corner.expect["every_rule"] = json!(true);
        corner.cites.push("IL02");
        corner
    };
    let mut all = vec![
        accepted("a stream beside an axis with one value", &["MCI-03"], copied(json!(0), json!(8)), &[]),
        rejected(
            "a stream that begins with an axis that has one value",
            "IB02",
            store,
            copied(json!("i"), json!(8)),
            "a stream beside an axis with one value",
        ),
        rejected(
            "a stream that ends with an axis that has one value",
            "IB02",
            store,
            copied(json!(0), json!(["i", 8])),
            "a stream beside an axis with one value",
        ),
        accepted(
            "a tile at the edge of a tensor with one iteration",
            &["MCI-09", "IS09"],
            summed(3, [4, 3], json!(0), 3),
            &[],
        ),
        rejected(
            "a tile at the edge of a tensor with two iterations",
            "IS09",
            &node(1),
            summed(7, [4, 3], json!(0), 7),
            "a tile at the edge of a tensor with one iteration",
        ),
        accepted(
            "numbers that a stream takes in steps",
            &["MCI-03", "IS09"],
            summed(5, [1, 4], json!(0), 8),
            &[],
        ),
        rejected(
            "numbers up to the end where an axis with one value says where a stream begins",
            "IS09",
            &node(1),
            summed(5, [1, 4], json!("i"), 8),
            "numbers that a stream takes in steps",
        ),
        accepted("an update with another tile", &["IS08"], updated("add", &["sum", "z"]), &[]),
        accepted("an update with two tiles", &["IS08"], updated("scale_add", &["sum", "x", "z"]), &[]),
        accepted("a state that is loaded in another region", &["IS06", "IS08"], loaded_again(1), &[]),
        rejected(
            "a state that is loaded in two other regions",
            "IS06",
            "/regions/2/streaming/tile/begin/0/out/0",
            loaded_again(2),
            "a state that is loaded in another region",
        ),
        accepted("a tile that is kept for a block", &["IL01", "IL02"], kept(&[("register", "block")]), &[]),
        rejected(
            "a tile that is kept for a block and for a node",
            "IL01",
            "/residency/1/values/0",
            kept(&[("register", "block"), ("register", "node")]),
            "a tile that is kept for a block",
        ),
        several(
            "a tile that is kept for a node in another memory",
            "/residency/0/values/0",
            kept(&[("shared", "node")]),
        ),
        accepted("a graph that is judged", &["MCI-18"], graph(), &[]),
    ];
    for (name, function, ins, place) in [
        ("an update of a state with itself", "add", &["sum", "sum"][..], 1),
        ("a largest of a state and itself", "max", &["sum", "sum"], 1),
        ("a state that is multiplied with itself", "scale_add", &["sum", "sum", "z"], 1),
        ("a state to which itself is added", "scale_add", &["sum", "z", "sum"], 2),
    ] {
        let at = format!("{}/in/{place}", node(2));
        all.push(rejected(name, "IS08", &at, updated(function, ins), "an update with another tile"));
    }
    for (name, method) in [
        ("a graph that is measured", "measure"),
        ("a graph that is computed", "compute"),
        ("a graph that is lowered", "lower"),
    ] {
        let mut corner = rejected(name, "S03", "/values/X", graph(), "a graph that is judged");
        corner.method = method;
        corner.cites.push("MCI-18");
        all.push(corner);
    }
    all
}
