//! Producers, states, shapes, bounds, coverage and peaks.

use serde_json::{Value, json};

use super::{Corner, accepted, rejected};
use crate::build::{Draft, Kernel, Tile};

const BEGIN: &str = "/regions/0/streaming/tile/begin";
const EACH: &str = "/regions/0/streaming/tile/each";
const END: &str = "/regions/0/streaming/tile/end";

/// A region alone.
pub(super) fn alone(mut draft: Draft, kernel: Kernel) -> Value {
    draft.push(kernel);
    draft.value()
}

/// A copy of a tile, made of a tile of this name.
fn copied(from: &str) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[8], "F32");
    draft.output("Y", &[8], "F32");
    draft.tiles(&[Tile("x", &[8], "F32", "shared", "block"), Tile("y", &[8], "F32", "register", "block")]);
    let mut kernel = Kernel::new("copy", &[]);
    kernel.load("load", "X", "x", json!([0]));
    kernel.compute("copy", "copy", &[from], "y", json!({}));
    kernel.end();
    kernel.store("store", "y", "Y", json!([0]));
    alone(draft, kernel)
}

/// Two regions: a sum over a stream, and a copy of the state that holds it, or of what has been stored of it.
fn handed_over(by_state: bool) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[16], "F32");
    draft.stored("S", &[4], "F32");
    draft.output("Y", &[4], "F32");
    draft.tiles(&[
        Tile("x", &[4], "F32", "shared", "iteration"),
        Tile("s", &[4], "F32", "register", "block"),
        Tile("y", &[4], "F32", "register", "block"),
    ]);
    let mut kernel = Kernel::new("sum", &[]);
    kernel.stream("j", 4, None, json!([16]));
    kernel.state("s", json!(0));
    kernel.each();
    kernel.load("load", "X", "x", json!(["j"]));
    kernel.update("keep", "add", &["s", "x"], &["s"]);
    kernel.end();
    kernel.store("store", "s", "S", json!([0]));
    draft.push(kernel);
    let mut kernel = Kernel::new("copy", &[]);
    kernel.end();
    if !by_state {
        draft.tiles(&[Tile("t", &[4], "F32", "shared", "block")]);
        kernel.load("load", "S", "t", json!([0]));
    }
    kernel.compute("copy", "copy", &[if by_state { "s" } else { "t" }], "y", json!({}));
    kernel.store("store", "y", "Y", json!([0]));
    alone(draft, kernel)
}

/// The largest scores and the sums of weights of rows, in states of these names.
fn softmax(most: &str, sum: &str) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[4, 8], "F32");
    draft.tiles(&[
        Tile("x", &[4, 4], "F32", "shared", "iteration"),
        Tile("p", &[4, 4], "F32", "register", "node"),
        Tile("r", &[4], "F32", "register", "node"),
    ]);
    let mut kernel = Kernel::new("softmax", &[]);
    kernel.stream("j", 4, None, json!([8]));
    let mut states = vec![(most, json!("-inf"))];
    if sum != most {
        states.push((sum, json!(0)));
    }
    for (state, init) in &states {
        draft.tiles(&[Tile(state, &[4], "F32", "register", "block")]);
        kernel.state(state, init.clone());
    }
    kernel.each();
    kernel.load("load", "X", "x", json!([0, "j"]));
    kernel.update("keep", "online_softmax", &["x", most, sum], &[most, sum, "p", "r"]);
    kernel.end();
    for (state, _) in states {
        let tensor = state.to_uppercase();
        draft.output(&tensor, &[4], "F32");
        kernel.store(&format!("store {state}"), state, &tensor, json!([0]));
    }
    alone(draft, kernel)
}

/// The sums of rows, over an axis.
fn reduced(axis: i64) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[4, 8], "F32");
    draft.output("Y", &[4], "F32");
    draft.tiles(&[Tile("x", &[4, 8], "F32", "shared", "block"), Tile("y", &[4], "F32", "register", "block")]);
    let mut kernel = Kernel::new("reduce", &[]);
    kernel.load("load", "X", "x", json!([0, 0]));
    kernel.reduce("sum", "sum", axis, "x", "y");
    kernel.end();
    kernel.store("store", "y", "Y", json!([0]));
    alone(draft, kernel)
}

fn zeros(rank: usize) -> Value {
    json!(vec![0; rank])
}

/// A `scale_add` of states and tiles of these extents.
fn scaled(state: &[i64], factors: &[i64]) -> Value {
    let mut draft = Draft::default();
    draft.input("X", state, "F32");
    draft.input("R", factors, "F32");
    draft.output("Y", state, "F32");
    draft.tiles(&[
        Tile("x", state, "F32", "shared", "iteration"),
        Tile("r", factors, "F32", "shared", "iteration"),
        Tile("s", state, "F32", "register", "block"),
    ]);
    let mut kernel = Kernel::new("scale-add", &[]);
    kernel.state("s", json!(1));
    kernel.each();
    kernel.load("lx", "X", "x", zeros(state.len()));
    kernel.load("lr", "R", "r", zeros(factors.len()));
    kernel.update("keep", "scale_add", &["s", "r", "x"], &["s"]);
    kernel.end();
    kernel.store("store", "s", "Y", zeros(state.len()));
    alone(draft, kernel)
}

/// A mask of a tile of these extents.
fn masked(extents: &[i64]) -> Value {
    let mut draft = Draft::default();
    draft.input("X", extents, "F32");
    draft.output("Y", extents, "F32");
    draft.tiles(&[
        Tile("x", extents, "F32", "shared", "block"),
        Tile("y", extents, "F32", "register", "block"),
    ]);
    let mut kernel = Kernel::new("mask", &[]);
    kernel.load("load", "X", "x", zeros(extents.len()));
    kernel.compute("mask", "mask", &["x"], "y", json!({"rows": 0, "columns": 0}));
    kernel.end();
    kernel.store("store", "y", "Y", zeros(extents.len()));
    alone(draft, kernel)
}

/// A region of two nodes for each extent, with as many blocks.
fn busy(extents: &[i64]) -> Value {
    let mut draft = Draft::default();
    for (number, &extent) in extents.iter().enumerate() {
        let [x, y, tile] = ["X", "Y", "x"].map(|name| format!("{name}{number}"));
        draft.input(&x, &[extent], "F32");
        draft.output(&y, &[extent], "F32");
        draft.tiles(&[Tile(&tile, &[1], "F32", "shared", "block")]);
        let mut kernel = Kernel::new(&format!("copy {number}"), &[("i", extent, 1)]);
        kernel.load("load", &x, &tile, json!(["i"]));
        kernel.end();
        kernel.store("store", &tile, &y, json!(["i"]));
        draft.push(kernel);
    }
    draft.value()
}

/// A copy of 8 elements a block, three blocks, at a place that follows from that of the block.
fn placed(at: Value, extent: i64) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[extent], "F32");
    draft.output("Y", &[extent], "F32");
    draft.tiles(&[Tile("x", &[8], "F32", "shared", "block")]);
    let mut kernel = Kernel::new("copy", &[("i", 24, 8)]);
    kernel.load("load", "X", "x", json!([at]));
    kernel.end();
    kernel.store("store", "x", "Y", json!([at]));
    alone(draft, kernel)
}

/// A sum over a stream that prefetches a tensor and stores `Y`.
fn fed(tensor: &str) -> Value {
    let mut draft = Draft::default();
    if tensor != "Y" {
        draft.input(tensor, &[4], "F32");
    }
    draft.output("Y", &[4], "F32");
    draft
        .tiles(&[Tile("x", &[4], "F32", "shared", "iteration"), Tile("s", &[4], "F32", "register", "block")]);
    draft.buffers("x", 2);
    let mut kernel = Kernel::new("sum", &[]);
    kernel.stream("j", 1, None, json!([3]));
    kernel.state("s", json!(0));
    kernel.prefetch("first", tensor, "x", json!([0]), 0);
    kernel.each();
    kernel.prefetch("next", tensor, "x", json!([0]), 1);
    kernel.wait("wait", json!([["x", 0]]));
    kernel.update("keep", "add", &["s", "x"], &["s"]);
    kernel.end();
    kernel.store("store", "s", "Y", json!([0]));
    alone(draft, kernel)
}

/// A sum for each of two blocks of what stands four elements before the place of the stream, which begins at an index.
fn behind(from: Value) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[20], "F32");
    draft.output("Y", &[8], "F32");
    draft
        .tiles(&[Tile("x", &[4], "F32", "shared", "iteration"), Tile("s", &[4], "F32", "register", "block")]);
    let mut kernel = Kernel::new("sum", &[("i", 8, 4)]);
    kernel.stream("j", 4, Some(json!([from])), json!([16]));
    kernel.state("s", json!(0));
    kernel.each();
    kernel.load("load", "X", "x", json!([["j", -4]]));
    kernel.update("keep", "add", &["s", "x"], &["s"]);
    kernel.end();
    kernel.store("store", "s", "Y", json!(["i"]));
    alone(draft, kernel)
}

/// A stream of one value, 8, over the rows of a tensor.
fn single(rows: i64) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[rows, 4], "F32");
    draft.output("Y", &[4], "F32");
    draft
        .tiles(&[Tile("x", &[4], "F32", "shared", "iteration"), Tile("s", &[4], "F32", "register", "block")]);
    let mut kernel = Kernel::new("sum", &[]);
    kernel.stream("j", 4, Some(json!([8])), json!([12]));
    kernel.state("s", json!(0));
    kernel.each();
    kernel.load("load", "X", "x", json!(["j", 0]));
    kernel.update("keep", "add", &["s", "x"], &["s"]);
    kernel.end();
    kernel.store("store", "s", "Y", json!([0]));
    alone(draft, kernel)
}

/// A copy that each iteration stores a part of, in rows of blocks.
fn streamed(from: Option<Value>, to: Value) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[8, 16], "F32");
    draft.output("Y", &[8, 16], "F32");
    draft.tiles(&[Tile("x", &[4, 4], "F32", "shared", "iteration")]);
    let mut kernel = Kernel::new("copy", &[("i", 8, 4)]);
    kernel.stream("j", 4, from, to);
    kernel.each();
    kernel.load("load", "X", "x", json!(["i", "j"]));
    kernel.store("store", "x", "Y", json!(["i", "j"]));
    alone(draft, kernel)
}

/// A row in two copies, with a tail; the axis of the copies cancels out where the row is loaded.
fn repeated() -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[10], "F32");
    draft.output("Y", &[2, 10], "F32");
    draft.tiles(&[Tile("x", &[4], "F32", "shared", "block")]);
    let mut kernel = Kernel::new("repeat", &[("i", 10, 4), ("b", 2, 1)]);
    kernel.load("load", "X", "x", json!([["i", "b", [-1, "b"]]]));
    kernel.end();
    kernel.store("store", "x", "Y", json!(["b", "i"]));
    alone(draft, kernel)
}

/// Two tiles of 16 bytes in shared memory, one after the other, of which one is for a node and the other for the iteration.
fn held(node_first: bool, limit: i64) -> Value {
    let mut draft = Draft::default();
    let mut kernel = Kernel::new("two", &[]);
    kernel.each();
    for (tile, lifetime) in
        if node_first { [("n", "node"), ("t", "iteration")] } else { [("t", "iteration"), ("n", "node")] }
    {
        let [tensor, state, result] = ["X", "s", "Y"].map(|name| format!("{name} {tile}"));
        draft.input(&tensor, &[4], "F32");
        draft.output(&result, &[4], "F32");
        draft.tiles(&[
            Tile(tile, &[4], "F32", "shared", lifetime),
            Tile(&state, &[4], "F32", "register", "block"),
        ]);
        kernel.state(&state, json!(0));
        kernel.load(&format!("load {tile}"), &tensor, tile, json!([0]));
        kernel.update(&format!("keep {tile}"), "add", &[&state, tile], &[&state]);
    }
    kernel.end();
    for tile in ["n", "t"] {
        kernel.store(&format!("store {tile}"), &format!("s {tile}"), &format!("Y {tile}"), json!([0]));
    }
    draft.target(limit, 32);
    alone(draft, kernel)
}

/// Two regions that hold 16 bytes and 32 bytes.
fn growing(limit: i64) -> Value {
    let mut draft = Draft::default();
    for (number, extent) in [4, 8].into_iter().enumerate() {
        let [x, y, tile] = ["X", "Y", "x"].map(|name| format!("{name}{number}"));
        draft.input(&x, &[extent], "F32");
        draft.output(&y, &[extent], "F32");
        draft.tiles(&[Tile(&tile, &[extent], "F32", "shared", "block")]);
        let mut kernel = Kernel::new(&format!("copy {number}"), &[]);
        kernel.load("load", &x, &tile, json!([0]));
        kernel.end();
        kernel.store("store", &tile, &y, json!([0]));
        draft.push(kernel);
    }
    draft.target(limit, 0);
    draft.value()
}

pub fn all() -> Vec<Corner> {
    let half = 1 << 29;
    vec![
        accepted("a copy of what is loaded", &["IS07"], copied("x"), &[]),
        rejected(
            "a tile that is computed from itself",
            "IS07",
            &format!("{BEGIN}/1/in/0"),
            copied("y"),
            "a copy of what is loaded",
        ),
        accepted("a sum that the next region loads", &["IS07"], handed_over(false), &[]),
        rejected(
            "a state that the next region reads",
            "IS07",
            "/regions/1/streaming/tile/end/0/in/0",
            handed_over(true),
            "a sum that the next region loads",
        ),
        accepted("largest scores and sums of weights", &["IS08"], softmax("m", "l"), &["IW01"]),
        rejected(
            "one state for largest scores and sums of weights",
            "IS08",
            &format!("{EACH}/1"),
            softmax("m", "m"),
            "one tile ahead",
        ),
        accepted("a reduction over the last axis", &["IS09"], reduced(1), &[]),
        rejected(
            "a reduction over the axis -1",
            "IS09",
            &format!("{BEGIN}/1"),
            reduced(-1),
            "a reduction over the last axis",
        ),
        accepted("states of one axis and their factors", &["IS09"], scaled(&[4], &[4]), &[]),
        accepted("states of two axes and a factor for each row", &["IS09"], scaled(&[4, 8], &[4]), &[]),
        rejected(
            "a factor for each column",
            "IS09",
            &format!("{EACH}/2"),
            scaled(&[4, 8], &[8]),
            "states of two axes and a factor for each row",
        ),
        rejected(
            "states of three axes and a factor for each row",
            "IS09",
            &format!("{EACH}/2"),
            scaled(&[4, 2, 2], &[4]),
            "states of two axes and a factor for each row",
        ),
        accepted("a mask of rows and columns", &["IS09"], masked(&[4, 8]), &[]),
        rejected(
            "a mask of one axis",
            "IS09",
            &format!("{BEGIN}/1"),
            masked(&[8]),
            "a mask of rows and columns",
        ),
        rejected(
            "a mask of three axes",
            "IS09",
            &format!("{BEGIN}/1"),
            masked(&[2, 4, 8]),
            "a mask of rows and columns",
        ),
        accepted("regions that together are as large as is allowed", &["IS11"], busy(&[half, half]), &[]),
        rejected(
            "regions that together are too large",
            "IS11",
            "/regions/1",
            busy(&[half, half + 1]),
            "regions that together are as large as is allowed",
        ),
        accepted("stores from the first element on", &["IB02"], placed(json!("i"), 24), &[]),
        rejected(
            "stores from the fifth element on",
            "IB02",
            &format!("{END}/0/at"),
            placed(json!(["i", 4]), 24),
            "stores from the first element on",
        ),
        accepted("stores from the last element down", &["IB02"], placed(json!([[-1, "i"], 16]), 24), &[]),
        accepted(
            "stores from the last element down, with a tail",
            &["IB02", "MCI-09"],
            placed(json!([[-1, "i"], 16]), 20),
            &[],
        ),
        accepted("a prefetch of an input", &["IB03"], fed("X"), &[]),
        rejected(
            "a prefetch of what the region stores",
            "IB03",
            &format!("{BEGIN}/0/in/0"),
            fed("Y"),
            "a prefetch of an input",
        ),
        accepted("a stream that begins behind its block", &["IB01", "MCI-03"], behind(json!(["i", 4])), &[]),
        rejected(
            "a stream that begins with its block",
            "IB01",
            &format!("{EACH}/0/at/0"),
            behind(json!("i")),
            "a stream that begins behind its block",
        ),
        accepted("a stream of one value that is not 0", &["IB01", "MCI-03"], single(9), &[]),
        rejected(
            "a stream of one value behind the end",
            "IB01",
            &format!("{EACH}/0/at/0"),
            single(8),
            "a stream of one value that is not 0",
        ),
        accepted(
            "a stream without a beginning of its own",
            &["MCI-01"],
            streamed(Some(json!([])), json!([16])),
            &[],
        ),
        accepted(
            "a stream whose end has an axis that cancels out",
            &["IB02", "MCI-03"],
            streamed(None, json!([["i", [-1, "i"], 16]])),
            &[],
        ),
        rejected(
            "a stream whose end has an axis that does not cancel out",
            "IB02",
            &format!("{EACH}/1/at"),
            streamed(None, json!([["i", [-1, "i"], 16], ["i", 16]])),
            "a stream whose end has an axis that cancels out",
        ),
        accepted("a row whose index has an axis that cancels out", &["IS09", "MCI-03"], repeated(), &[]),
        accepted("a tile for a node, and then one for the iteration", &["IT01"], held(true, 32), &[]),
        rejected(
            "a tile for a node, and then one for the iteration, of a byte too much",
            "IT01",
            "/regions/0",
            held(true, 31),
            "a tile for a node, and then one for the iteration",
        ),
        accepted("a tile for the iteration, and then one for a node", &["IT01"], held(false, 32), &[]),
        rejected(
            "a tile for the iteration, and then one for a node, of a byte too much",
            "IT01",
            "/regions/0",
            held(false, 31),
            "a tile for the iteration, and then one for a node",
        ),
        accepted("a second region that just fits", &["IT01"], growing(32), &[]),
        rejected(
            "a second region that does not fit",
            "IT01",
            "/regions/1",
            growing(31),
            "a second region that just fits",
        ),
    ]
}
