//! Small documents of which one thing is large, empty or below 0: what they compute and what they move is known at a glance.

use serde_json::{Value, json};

use crate::build::{Draft, Kernel, Tile};

/// The negative of a tensor, in tiles of `step` along each of its axes, each of which has a block axis.
pub fn mapped(shape: &[i64], step: i64) -> Draft {
    let mut draft = Draft::default();
    draft.input("X", shape, "F32");
    draft.output("Y", shape, "F32");
    let sizes = vec![step; shape.len()];
    draft.tiles(&[Tile("x", &sizes, "F32", "shared", "block"), Tile("y", &sizes, "F32", "register", "node")]);
    let axes: Vec<String> = (0..shape.len()).map(|axis| format!("i{axis}")).collect();
    let blocks: Vec<(&str, i64, i64)> =
        axes.iter().zip(shape).map(|(axis, &extent)| (axis.as_str(), extent, step)).collect();
    let mut kernel = Kernel::new("map", &blocks);
    kernel.load("load", "X", "x", json!(axes));
    kernel.end();
    kernel.compute("neg", "neg", &["x"], "y", json!({}));
    kernel.store("store", "y", "Y", json!(axes));
    draft.push(kernel);
    draft
}

/// A copy of a vector through a stream, two elements at a time, so many tiles ahead. Tensors have `buffers` too, which mean nothing.
pub fn streamed(extent: i64, ahead: i64) -> Draft {
    let mut draft = Draft::default();
    draft.input("X", &[extent], "F32");
    draft.output("Y", &[extent], "F32");
    draft.tiles(&[Tile("x", &[2], "F32", "shared", "iteration")]);
    for (name, buffers) in [("X", 2), ("Y", 3), ("x", ahead + 1)] {
        draft.buffers(name, buffers);
    }
    let mut kernel = Kernel::new("copy", &[]);
    kernel.stream("j", 2, None, json!([extent]));
    for version in 0..ahead {
        kernel.prefetch(&format!("x{version}"), "X", "x", json!(["j"]), version);
    }
    kernel.each();
    kernel.prefetch("next", "X", "x", json!(["j"]), ahead);
    kernel.wait("wait", json!([["x", 0]]));
    kernel.store("store", "x", "Y", json!(["j"]));
    draft.push(kernel);
    draft
}

/// Bounds of a stream, and what it adds up: elements of X from where `at` is, as many as the tile has.
#[derive(Clone, Copy, Debug)]
struct Sum {
    extents: [i64; 2],
    tile: i64,
    /// Block axis `i`: extent and step.
    blocks: Option<(i64, i64)>,
    ahead: i64,
}

/// Adds up tiles of X, for each block that there is.
fn sum(of: Sum, from: Option<Value>, to: Value, at: &Value) -> Draft {
    let Sum { extents: [extent, stored], tile, blocks, ahead } = of;
    let mut draft = Draft::default();
    draft.input("X", &[extent], "F32");
    draft.output("Y", &[stored], "F32");
    draft.tiles(&[
        Tile("x", &[tile], "F32", "shared", "iteration"),
        Tile("s", &[tile], "F32", "register", "block"),
    ]);
    draft.buffers("x", ahead + 1);
    let axes: Vec<(&str, i64, i64)> = blocks.iter().map(|&(extent, step)| ("i", extent, step)).collect();
    let mut kernel = Kernel::new("sum", &axes);
    kernel.stream("j", 1, from, to);
    kernel.state("s", json!(0));
    for version in 0..ahead {
        kernel.prefetch(&format!("x{version}"), "X", "x", json!([at]), version);
    }
    kernel.each();
    if ahead == 0 {
        kernel.load("load", "X", "x", json!([at]));
    } else {
        kernel.prefetch("next", "X", "x", json!([at]), ahead);
        kernel.wait("wait", json!([["x", 0]]));
    }
    kernel.update("keep", "add", &["s", "x"], &["s"]);
    kernel.end();
    let place = if blocks.is_some() { json!("i") } else { json!(0) };
    kernel.store("store", "s", "Y", json!([place]));
    draft.push(kernel);
    draft
}

/// Sixteen iterations, of which the first four are below 0.
pub fn below_zero() -> Draft {
    let of = Sum { extents: [16, 1], tile: 1, blocks: None, ahead: 0 };
    sum(of, Some(json!([-4])), json!([12]), &json!(["j", 4]))
}

/// So many iterations, each of which adds an element.
pub fn iterations(count: i64) -> Draft {
    let of = Sum { extents: [count, 1], tile: 1, blocks: None, ahead: 0 };
    sum(of, None, json!([count]), &json!("j"))
}

/// Four blocks that run from 4 to `i + 1`, with i = 0, 2, 4, 6: two of them end long before they begin.
pub fn late() -> Draft {
    let of = Sum { extents: [8, 8], tile: 2, blocks: Some((8, 2)), ahead: 0 };
    sum(of, Some(json!([4])), json!([["i", 1]]), &json!("j"))
}

/// Four blocks with 0, 1, 2 and 3 iterations, two tiles ahead.
pub fn ahead_in_some() -> Draft {
    let of = Sum { extents: [4, 4], tile: 1, blocks: Some((4, 1)), ahead: 2 };
    sum(of, None, json!(["i"]), &json!("j"))
}

/// A stream without iterations: what it would load, one tile now and one ahead, and two states.
pub fn nothing() -> Draft {
    let mut draft = Draft::default();
    for (name, is_input) in [("X", true), ("Z", true), ("Y", false), ("W", false)] {
        if is_input { draft.input(name, &[4], "F32") } else { draft.output(name, &[4], "F32") }
    }
    draft.tiles(&[
        Tile("x", &[4], "F32", "shared", "iteration"),
        Tile("z", &[4], "F32", "shared", "iteration"),
        Tile("s", &[4], "F32", "register", "block"),
        Tile("t", &[4], "F32", "register", "block"),
    ]);
    draft.buffers("z", 2);
    let mut kernel = Kernel::new("nothing", &[]);
    kernel.stream("j", 4, None, json!([0]));
    kernel.state("s", json!(7));
    kernel.state("t", json!("-inf"));
    kernel.prefetch("z0", "Z", "z", json!(["j"]), 0);
    kernel.each();
    kernel.load("load", "X", "x", json!(["j"]));
    kernel.prefetch("next", "Z", "z", json!(["j"]), 1);
    kernel.wait("wait", json!([["z", 0]]));
    kernel.update("add", "add", &["s", "x"], &["s"]);
    kernel.update("max", "max", &["t", "z"], &["t"]);
    kernel.end();
    kernel.store("y", "s", "Y", json!([0]));
    kernel.store("w", "t", "W", json!([0]));
    draft.push(kernel);
    draft
}

/// The sum of so many vectors of two elements, and each vector with all before it in an output of its own.
pub fn operands(count: i64) -> Draft {
    let mut draft = Draft::default();
    let mut kernel = Kernel::new("sums", &[]);
    let mut before = String::new();
    for number in 0..count {
        let name = |prefix: &str| format!("{prefix}{number}");
        let (x, y, tile, sum) = (name("X"), name("Y"), name("x"), name("s"));
        draft.input(&x, &[2], "F16");
        draft.output(&y, &[2], "F16");
        draft.tiles(&[Tile(&tile, &[2], "F16", "shared", "block")]);
        kernel.load(&name("load"), &x, &tile, json!([0]));
        if number > 0 {
            draft.tiles(&[Tile(&sum, &[2], "F16", "register", "block")]);
            kernel.compute(&name("add"), "add", &[&before, &tile], &sum, json!({}));
        }
        before = if number > 0 { sum } else { tile };
        kernel.store(&name("store"), &before, &y, json!([0]));
    }
    draft.push(kernel);
    draft
}

/// Fractions: below 0, without a denominator, with one alone, equal ones, and such as no binary number is.
pub const FRACTIONS: &[[i64; 2]] =
    &[[-3, 2], [5, 1], [-1, 1], [1, 1], [0, 3], [1, 8], [7, 3], [-2, 6], [6, 4], [12, 1], [-256, 16]];

/// A vector times each of these.
pub fn fractions() -> Draft {
    let mut draft = Draft::default();
    draft.input("X", &[4], "F32");
    draft.tiles(&[Tile("x", &[4], "F32", "shared", "block")]);
    let mut kernel = Kernel::new("fractions", &[]);
    kernel.load("load", "X", "x", json!([0]));
    for (number, by) in FRACTIONS.iter().enumerate() {
        let [tile, to] = ["y", "Y"].map(|name| format!("{name}{number}"));
        draft.output(&to, &[4], "F32");
        draft.tiles(&[Tile(&tile, &[4], "F32", "register", "node")]);
        kernel.compute(&format!("scale{number}"), "scale", &["x"], &tile, json!({"by": by}));
        kernel.store(&format!("store{number}"), &tile, &to, json!([0]));
    }
    draft.push(kernel);
    draft
}

/// Where a large tile is kept: its memory and its lifetime, whether `begin` produces it, and whether that is by a `Prefetch`.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    pub memory: &'static str,
    pub lifetime: &'static str,
    pub in_begin: bool,
    pub is_prefetched: bool,
}

/// The sums of the rows of a large tile in each iteration, and, in `begin` and in `end`, those of others that are as large: one at a time
/// is there.
pub fn kept(of: Kept) -> Draft {
    let mut draft = Draft::default();
    draft.input("X", &[4, 16], "F32");
    draft.output("Y", &[4], "F32");
    let large: &[i64] = &[4, 8];
    draft.tiles(&[
        Tile("x", large, "F32", of.memory, of.lifetime),
        Tile("before", large, "F32", of.memory, "node"),
        Tile("after", large, "F32", of.memory, "node"),
        Tile("first", &[4], "F32", "register", "block"),
        Tile("part", &[4], "F32", "register", "node"),
        Tile("last", &[4], "F32", "register", "node"),
        Tile("both", &[4], "F32", "register", "node"),
        Tile("all", &[4], "F32", "register", "node"),
        Tile("s", &[4], "F32", "register", "block"),
    ]);
    let mut kernel = Kernel::new("kept", &[]);
    kernel.stream("j", 8, None, json!([16]));
    kernel.state("s", json!(0));
    kernel.load("before", "X", "before", json!([0, 0]));
    kernel.reduce("first", "sum", 1, "before", "first");
    if of.is_prefetched {
        draft.buffers("x", 2);
        kernel.prefetch("x0", "X", "x", json!([0, "j"]), 0);
    } else if of.in_begin {
        kernel.load("x", "X", "x", json!([0, 8]));
    }
    kernel.each();
    if of.is_prefetched {
        kernel.prefetch("next", "X", "x", json!([0, "j"]), 1);
        kernel.wait("wait", json!([["x", 0]]));
    } else if !of.in_begin {
        kernel.load("x", "X", "x", json!([0, "j"]));
    }
    kernel.reduce("part", "sum", 1, "x", "part");
    kernel.update("keep", "add", &["s", "part"], &["s"]);
    kernel.end();
    kernel.load("after", "X", "after", json!([0, 8]));
    kernel.reduce("last", "max", 1, "after", "last");
    kernel.compute("both", "add", &["s", "last"], "both", json!({}));
    kernel.compute("all", "add", &["both", "first"], "all", json!({}));
    kernel.store("store", "all", "Y", json!([0]));
    draft.push(kernel);
    draft
}
