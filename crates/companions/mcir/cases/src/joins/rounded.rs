//! Documents in which sums, weights and quotients are rounded on their way from region to region, and sums of one number.

use serde_json::json;

use super::Case;
use super::kernels::{self, Map, Product};
use crate::build::{Draft, Kernel, Tile};

/// Weights divided by the sums of their rows, which are rounded.
fn divided(draft: &mut Draft) {
    let wide = draft.shape("E")[1];
    for (tile, shape, dtype, memory) in [
        ("e", &[2, wide][..], draft.dtype("E"), "shared"),
        ("s", &[2], draft.dtype("S"), "register"),
        ("e again", &[2, wide], draft.dtype("E"), "shared"),
        ("s again", &[2], draft.dtype("S"), "shared"),
        ("y", &[2, wide], draft.dtype("Y"), "register"),
    ] {
        draft.tiles(&[Tile(tile, shape, &dtype, memory, "node")]);
    }
    let rows = draft.shape("E")[0];
    let mut sums = Kernel::new("sums", &[("row", rows, 2)]);
    sums.load("load", "E", "e", json!(["row", 0]));
    sums.reduce("sum", "sum", 1, "e", "s");
    sums.store("store", "s", "S", json!(["row"]));
    draft.push(sums);
    let mut quotients = Kernel::new("quotients", &[("line", rows, 2)]);
    quotients.load("weights", "E", "e again", json!(["line", 0]));
    quotients.load("sums", "S", "s again", json!(["line"]));
    quotients.compute("divide", "div", &["e again", "s again"], "y", json!({"along": "rows"}));
    quotients.store("store", "y", "Y", json!(["line", 0]));
    draft.push(quotients);
}

/// The documents.
pub fn all(all: &mut Vec<Case>) {
    let mut put = |name, summary, draft| all.push(Case { name, summary, draft });

    for (name, summary, wide) in [
        ("rounded weights", "weights in F16, divided by their sums in BF16", 8),
        ("rounded weights of one column", "the same, where each sum is of one weight", 1),
    ] {
        let mut draft = Draft::default();
        draft.input("X", &[5, wide], "F32");
        draft.stored("E", &[5, wide], "F16");
        draft.stored("S", &[5], "BF16");
        draft.output("Y", &[5, wide], "BF16");
        Map { step: [2, wide], ..Map::of("weights", "X", "E", "exp") }.push(&mut draft);
        divided(&mut draft);
        put(name, summary, draft);
    }

    let mut draft = Draft::default();
    draft.input("X", &[7, 9], "F32");
    draft.input("Z", &[7, 9], "F32");
    draft.stored("A", &[7, 9], "F16");
    draft.stored("B", &[7, 9], "BF16");
    draft.output("Y", &[7, 9], "F16");
    Map::of("above", "X", "A", "silu").push(&mut draft);
    Map::of("below", "Z", "B", "exp").push(&mut draft);
    Map { other: Some("B"), ..Map::of("quotient", "A", "Y", "div") }.push(&mut draft);
    put("quotient", "a quotient of what two regions round, each in its own way", draft);

    let mut draft = Draft::default();
    draft.input("X", &[5, 9], "F16");
    draft.input("W", &[9, 6], "F16");
    draft.input("B", &[6], "F16");
    draft.stored("H", &[5, 6], "BF16");
    draft.stored("C", &[5, 6], "F16");
    draft.output("Y", &[5, 6], "F32");
    Product::of("product", "X", "W", "H").push(&mut draft);
    Map { bias: Some("B"), ..Map::of("bias", "H", "C", "add") }.push(&mut draft);
    Map::of("silu", "C", "Y", "silu").push(&mut draft);
    put("rounded epilogue", "a product in BF16, and its sum with a bias in F16", draft);

    let mut draft = Draft::default();
    draft.input("X", &[5, 1], "F32");
    draft.stored("T", &[5, 1], "BF16");
    draft.output("Y", &[5, 1], "F16");
    Map { step: [2, 1], ..Map::of("gelu", "X", "T", "gelu") }.push(&mut draft);
    kernels::norm(&mut draft, "norm", "T", "Y", 2, true);
    put("norm of one number", "a norm of rows of one number, which are rounded before", draft);
}
