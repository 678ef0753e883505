//! Documents with masks: their rows and columns have to be those of the block that computes them, whatever its axes are called.

use serde_json::{Value, json};

use super::Case;
use super::kernels::{self, Map};
use crate::build::{Draft, Kernel, Tile};

/// Weights of masked scores, which are rows and columns of `T`: exponentials of what a mask keeps.
fn weights(draft: &mut Draft, axes: [&str; 2], mask: Value) {
    let shape = draft.shape("T");
    draft.tiles(&[
        Tile("score", &[4, 4], &draft.dtype("T"), "shared", "node"),
        Tile("kept", &[4, 4], "F32", "register", "node"),
        Tile("weight", &[4, 4], "F16", "register", "node"),
    ]);
    let mut kernel = Kernel::new("weights", &[(axes[0], shape[0], 4), (axes[1], shape[1], 4)]);
    kernel.load("load", "T", "score", json!(axes));
    kernel.compute("mask", "mask", &["score"], "kept", mask);
    kernel.compute("weigh", "exp", &["kept"], "weight", json!({}));
    kernel.store("store", "weight", "Y", json!(axes));
    draft.push(kernel);
}

/// The documents.
pub fn all(all: &mut Vec<Case>) {
    let mut put = |name, summary, draft| all.push(Case { name, summary, draft });
    let start = |shape: &[i64]| {
        let mut draft = Draft::default();
        draft.input("X", shape, "F16");
        draft.stored("T", shape, "BF16");
        draft.output("Y", shape, "F16");
        Map::of("scores", "X", "T", "gelu").push(&mut draft);
        draft
    };

    for (name, summary, axes, mask) in [
        (
            "masked",
            "a mask in a region whose axes have other names",
            ["row", "column"],
            json!({"rows": ["row", 1], "columns": "column"}),
        ),
        (
            "masked with names in turn",
            "the same, whose rows have the name that columns have elsewhere",
            ["j", "i"],
            json!({"rows": "j", "columns": "i", "window": 5}),
        ),
        (
            "masked by the rows of the next block",
            "a mask that begins four rows, or a block, further down",
            ["row", "column"],
            json!({"rows": ["row", 4], "columns": "column", "window": 3}),
        ),
        (
            "masked at other places",
            "a mask whose rows and columns are further apart than those of the tile, and begin below 0",
            ["row", "column"],
            json!({"rows": [[2, "row"], -1], "columns": [-6, [3, "column"]], "window": 9}),
        ),
    ] {
        let mut draft = start(&[9, 11]);
        weights(&mut draft, axes, mask);
        put(name, summary, draft);
    }

    let mut draft = start(&[3, 11]);
    let mask = json!({"rows": [[2, "row"], 5], "columns": ["column", [3, "row"], 1]});
    weights(&mut draft, ["row", "column"], mask);
    put("masked in one row of blocks", "a mask of which an axis has one value", draft);

    for (name, summary, is_early) in [
        ("causal queries", "queries that are scaled before causal attention", false),
        ("causal queries, tiles left out", "the same without tiles of which a mask keeps nothing", true),
    ] {
        let mut draft = Draft::default();
        draft.input("X", &[7, 4], "F16");
        draft.input("K", &[10, 4], "F16");
        draft.input("V", &[10, 4], "F16");
        draft.stored("Q", &[7, 4], "F16");
        draft.output("O", &[7, 4], "F16");
        Map { step: [3, 4], ..Map::of("scale", "X", "Q", "gelu") }.push(&mut draft);
        // A block sees keys up to its own rows and two more.
        let end = if is_early { json!([10, ["q", 5]]) } else { json!([10]) };
        kernels::attention(&mut draft, [7, 10], 0, Some((json!(["q", 2]), end)));
        put(name, summary, draft);
    }
}
