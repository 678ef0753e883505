//! Matrix products: with an epilogue, behind a norm, two in a row.

use serde_json::json;

use super::{Base, Row, base};
use crate::build::{Draft, Kernel, Tile, cuts};

/// A product y = x wᵀ, with a bias and GELU if it is wanted.
#[derive(Clone, Copy, Debug)]
struct Product<'s> {
    id: &'s str,
    x: &'s str,
    w: &'s str,
    y: &'s str,
    /// Prefix of the names of tiles.
    own: &'s str,
    rows: i64,
    columns: i64,
    inner: i64,
    block: [i64; 3],
    ahead: i64,
    bias: Option<&'s str>,
}

/// Adds the kernel of a product, and its tiles.
fn product(draft: &mut Draft, of: Product<'_>) -> Row {
    let Product { rows, columns, inner, block: [bm, bn, bk], ahead, .. } = of;
    let name = |tile: &str| format!("{}{tile}", of.own);
    let [x, w, t, acc, b, c, g, y] = ["x", "w", "t", "acc", "b", "c", "g", "y"].map(name);
    draft.tiles(&[
        Tile(&x, &[bm, bk], "F16", "shared", "iteration"),
        Tile(&w, &[bn, bk], "F16", "shared", "iteration"),
        Tile(&t, &[bm, bn], "F32", "register", "node"),
        Tile(&acc, &[bm, bn], "F32", "register", "block"),
        Tile(&y, &[bm, bn], "F16", "register", "node"),
    ]);
    draft.buffers(&x, ahead + 1);
    draft.buffers(&w, ahead + 1);
    let mut kernel = Kernel::new(of.id, &[("m", rows, bm), ("n", columns, bn)]);
    kernel.stream("k", bk, None, json!([inner]));
    kernel.state(&acc, json!(0));
    for version in 0..ahead {
        kernel.prefetch(&format!("x{version}"), of.x, &x, json!(["m", "k"]), version);
        kernel.prefetch(&format!("w{version}"), of.w, &w, json!(["n", "k"]), version);
    }
    kernel.each();
    if ahead == 0 {
        kernel.load("lx", of.x, &x, json!(["m", "k"]));
        kernel.load("lw", of.w, &w, json!(["n", "k"]));
    } else {
        kernel.prefetch("xn", of.x, &x, json!(["m", "k"]), ahead);
        kernel.prefetch("wn", of.w, &w, json!(["n", "k"]), ahead);
        kernel.wait("b", json!([[x, 0], [w, 0]]));
    }
    kernel.compute("mm", "matmul_nt", &[&x, &w], &t, json!({}));
    kernel.update("keep", "add", &[&acc, &t], &[&acc]);
    kernel.end();
    if let Some(bias) = of.bias {
        draft.tiles(&[
            Tile(&b, &[bn], "F16", "shared", "node"),
            Tile(&c, &[bm, bn], "F32", "register", "node"),
            Tile(&g, &[bm, bn], "F32", "register", "node"),
        ]);
        kernel.load("lb", bias, &b, json!(["n"]));
        kernel.compute("bias", "add", &[&acc, &b], &c, json!({"along": "columns"}));
        kernel.compute("gelu", "gelu", &[&c], &g, json!({}));
        kernel.compute("cast", "copy", &[&g], &y, json!({}));
    } else {
        kernel.compute("cast", "copy", &[&acc], &y, json!({}));
    }
    kernel.store("store", &y, of.y, json!(["m", "n"]));
    draft.push(kernel);
    let mut row = Row::of(of.id);
    for m in cuts(rows, bm) {
        for n in cuts(columns, bn) {
            row.blocks += 1;
            row.stored += 2 * m * n;
            if of.bias.is_some() {
                row.loaded += 2 * n;
                row.operations += m * n + 5 * m * n;
            }
            for k in cuts(inner, bk) {
                row.iterations += 1;
                row.loaded += 2 * (m + n) * k;
                row.operations += 2 * m * n * k + m * n;
            }
        }
    }
    // The bias is there when the tiles of the stream are gone.
    let stream = 2 * (ahead + 1) * (bm + bn) * bk;
    row.shared = if of.bias.is_some() { stream.max(2 * bn) } else { stream };
    // The accumulator, and two tiles of the epilogue or one of the stream.
    row.register = 4 * bm * bn * if of.bias.is_some() { 3 } else { 2 };
    row
}

const PLAIN: Product<'static> = Product {
    id: "product",
    x: "X",
    w: "W",
    y: "Y",
    own: "",
    rows: 256,
    columns: 192,
    inner: 128,
    block: [64, 64, 32],
    ahead: 1,
    bias: None,
};

/// A document of one product.
fn single(name: &str, summary: &str, of: Product<'_>) -> Base {
    let mut draft = Draft::default();
    draft.input("X", &[of.rows, of.inner], "F16");
    draft.input("W", &[of.columns, of.inner], "F16");
    if of.bias.is_some() {
        draft.input("B", &[of.columns], "F16");
    }
    draft.output("Y", &[of.rows, of.columns], "F16");
    let row = product(&mut draft, of);
    draft.target(row.shared, row.register);
    let clauses = ["MCI-04", "MCI-06", "MCI-09", "MCI-10", "MCI-12", "MCI-15"];
    base(name, summary, &clauses, draft, &[row], &[])
}

/// Two products in a row, with the activations between them in global memory.
fn pair(name: &str, rows: i64, inner: i64, between: i64, block: [i64; 3]) -> Base {
    let mut draft = Draft::default();
    draft.input("X", &[rows, inner], "F16");
    draft.input("U", &[between, inner], "F16");
    draft.input("B", &[between], "F16");
    draft.input("D", &[inner, between], "F16");
    draft.stored("H", &[rows, between], "F16");
    draft.output("Y", &[rows, inner], "F16");
    let up = Product {
        id: "up",
        w: "U",
        y: "H",
        own: "u",
        rows,
        columns: between,
        inner,
        block,
        bias: Some("B"),
        ..PLAIN
    };
    let down = Product {
        id: "down",
        x: "H",
        w: "D",
        own: "d",
        rows,
        columns: inner,
        inner: between,
        block,
        ..PLAIN
    };
    let all = [product(&mut draft, up), product(&mut draft, down)];
    base(name, "two products with GELU between them", &["MCI-02", "MCI-07"], draft, &all, &["H"])
}

/// A norm of rows whose factors are computed in the kernel of the product behind it.
fn behind_norm(name: &str, rows: i64, columns: i64, inner: i64, [bm, bn, bk]: [i64; 3]) -> Base {
    let mut draft = Draft::default();
    draft.input("X", &[rows, inner], "F16");
    draft.input("W", &[columns, inner], "F16");
    draft.output("Y", &[rows, columns], "F16");
    draft.tiles(&[
        Tile("x", &[bm, bk], "F16", "shared", "iteration"),
        Tile("w", &[bn, bk], "F16", "shared", "iteration"),
        Tile("xx", &[bm, bk], "F32", "register", "node"),
        Tile("part", &[bm], "F32", "register", "node"),
        Tile("sum", &[bm], "F32", "register", "block"),
        Tile("t", &[bm, bn], "F32", "register", "node"),
        Tile("acc", &[bm, bn], "F32", "register", "block"),
        Tile("mean", &[bm], "F32", "register", "node"),
        Tile("root", &[bm], "F32", "register", "node"),
        Tile("y", &[bm, bn], "F16", "register", "node"),
    ]);
    let mut kernel = Kernel::new("norm-product", &[("m", rows, bm), ("n", columns, bn)]);
    kernel.stream("k", bk, None, json!([inner]));
    kernel.state("sum", json!(0));
    kernel.state("acc", json!(0));
    kernel.each();
    kernel.load("lx", "X", "x", json!(["m", "k"]));
    kernel.load("lw", "W", "w", json!(["n", "k"]));
    kernel.compute("square", "mul", &["x", "x"], "xx", json!({}));
    kernel.reduce("add", "sum", 1, "xx", "part");
    kernel.update("keep", "add", &["sum", "part"], &["sum"]);
    kernel.compute("mm", "matmul_nt", &["x", "w"], "t", json!({}));
    kernel.update("more", "add", &["acc", "t"], &["acc"]);
    kernel.end();
    kernel.compute("mean", "scale", &["sum"], "mean", json!({"by": [1, inner]}));
    kernel.compute("root", "rsqrt", &["mean"], "root", json!({}));
    kernel.compute("norm", "mul", &["acc", "root"], "y", json!({"along": "rows"}));
    kernel.store("store", "y", "Y", json!(["m", "n"]));
    draft.push(kernel);
    let mut row = Row::of("norm-product");
    for m in cuts(rows, bm) {
        for n in cuts(columns, bn) {
            row.blocks += 1;
            row.stored += 2 * m * n;
            row.operations += 2 * m + m * n;
            for k in cuts(inner, bk) {
                row.iterations += 1;
                row.loaded += 2 * (m + n) * k;
                row.operations += m * k + m * (k - 1) + m + 2 * m * n * k + m * n;
            }
        }
    }
    row.shared = 2 * (bm + bn) * bk;
    let kept = 4 * (bm + bm * bn);
    let most = [4 * (bm * bk + bm), 4 * bm * bn, 8 * bm, 4 * bm + 2 * bm * bn];
    row.register = kept + most.into_iter().max().unwrap_or(0);
    let clauses = ["MCI-05", "MCI-06", "MCI-08", "MCI-15"];
    base(name, "RMSNorm and the product behind it", &clauses, draft, &[row], &[])
}

/// All documents about products.
pub fn all() -> Vec<Base> {
    let mut all = vec![
        single("product", "a product, one tile ahead", PLAIN),
        single(
            "product-tails",
            "with tails along all axes",
            Product { rows: 250, columns: 100, inner: 70, ..PLAIN },
        ),
        single("product-gelu", "with a bias and GELU", Product { bias: Some("B"), ahead: 2, ..PLAIN }),
        single("product-plain", "without prefetches", Product { ahead: 0, ..PLAIN }),
        pair("pair", 128, 96, 256, PLAIN.block),
        behind_norm("norm-product", 96, 128, 160, [32, 64, 32]),
        behind_norm("norm-product-tails", 90, 100, 150, [32, 64, 32]),
    ];
    let mut more = Vec::new();
    for (rows, columns, inner) in [(1, 1, 1), (64, 64, 32), (65, 63, 33), (300, 200, 100)] {
        for ahead in [0, 1, 4] {
            let name = format!("product-{rows}-{columns}-{inner}-{ahead}-ahead");
            let bias = (ahead == 1).then_some("B");
            let of = Product { rows, columns, inner, ahead, bias, ..PLAIN };
            more.push(single(&name, &format!("{rows} x {columns} x {inner}, {ahead} tiles ahead"), of));
        }
        more.push(pair(&format!("pair-{rows}-{columns}-{inner}"), rows, columns, inner, PLAIN.block));
    }
    more.iter_mut().for_each(|base| base.is_planted = false);
    all.append(&mut more);
    all
}

/// Those of a few tiles.
pub fn small() -> Vec<Base> {
    let of = Product { rows: 5, columns: 6, inner: 9, block: [4, 4, 4], ..PLAIN };
    vec![
        single("product", "a product, one tile ahead", of),
        single("product-plain", "without prefetches", Product { ahead: 0, ..of }),
        single("product-deep", "three tiles ahead", Product { ahead: 3, inner: 17, ..of }),
        single("product-gelu", "with a bias and GELU", Product { bias: Some("B"), ..of }),
        pair("pair", 5, 6, 10, of.block),
        behind_norm("norm-product", 5, 6, 9, of.block),
    ]
}
