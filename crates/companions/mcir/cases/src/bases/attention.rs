//! Attention: streaming, with masks, with grouped heads, one query, and naive.

use serde_json::json;

use super::{Base, Row, base};
use crate::build::{Draft, Kernel, Tile, cuts, size};

/// How attention is tiled.
#[derive(Clone, Copy, Debug)]
struct Shape<'s> {
    /// Query rows, keys, and numbers in each.
    rows: i64,
    keys: i64,
    depth: i64,
    /// Steps.
    block: i64,
    step: i64,
    /// Iterations ahead, and slots.
    ahead: i64,
    buffers: i64,
    dtype: &'s str,
    mask: Mask,
}

/// Which keys a query meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mask {
    /// All.
    None,
    /// Those up to its own place; tiles beyond are skipped.
    Causal,
    /// Those of the last so many places; tiles before are skipped too.
    Window(i64),
    /// As causal, but nothing is skipped.
    Masked,
}

impl Shape<'_> {
    /// The number of elements of a tile of keys, for each block and iteration.
    fn key_tiles(&self, block: i64) -> Vec<i64> {
        let (begin, end) = match self.mask {
            Mask::None | Mask::Masked => (0, self.keys),
            Mask::Causal => (0, self.keys.min(block * self.block + self.block)),
            Mask::Window(window) => {
                let first = block * self.block;
                ((first - window + 1).max(0), self.keys.min(first + self.block))
            }
        };
        let step = usize::try_from(self.step).unwrap_or(1);
        (begin..end).step_by(step).map(|at| self.step.min(self.keys - at)).collect()
    }
}

/// The nodes of a stream over keys: what is loaded where, and the head of keys if there is one.
fn stream(kernel: &mut Kernel, shape: Shape<'_>, at: impl Fn(&str) -> serde_json::Value) {
    for version in 0..shape.ahead {
        kernel.prefetch(&format!("k{version}"), "K", "k", at("j"), version);
        kernel.prefetch(&format!("v{version}"), "V", "v", at("j"), version);
    }
    kernel.each();
    if shape.ahead == 0 {
        kernel.load("lk", "K", "k", at("j"));
        kernel.load("lv", "V", "v", at("j"));
    } else {
        kernel.prefetch("kn", "K", "k", at("j"), shape.ahead);
        kernel.prefetch("vn", "V", "v", at("j"), shape.ahead);
        kernel.wait("b", json!([["k", 0], ["v", 0]]));
    }
    kernel.compute("qk", "matmul_nt", &["q", "k"], "t", json!({}));
    if shape.mask == Mask::None {
        kernel.compute("sc", "scale", &["t"], "s", json!({"by": [1, 8]}));
    } else {
        kernel.compute("sc", "scale", &["t"], "u", json!({"by": [1, 8]}));
        let mut members = json!({"rows": "i", "columns": "j"});
        if let Mask::Window(window) = shape.mask {
            members["window"] = json!(window);
        }
        kernel.compute("mk", "mask", &["u"], "s", members);
    }
    kernel.update("us", "online_softmax", &["s", "m", "l"], &["m", "l", "p", "r"]);
    kernel.compute("pvn", "matmul_nn", &["p", "v"], "pv", json!({}));
    kernel.update("ua", "scale_add", &["acc", "r", "pv"], &["acc"]);
    kernel.end();
    kernel.compute("dv", "div", &["acc", "l"], "o", json!({"along": "rows"}));
}

fn tiles(draft: &mut Draft, shape: Shape<'_>) {
    let Shape { block, step, depth, dtype, .. } = shape;
    draft.tiles(&[
        Tile("q", &[block, depth], dtype, "shared", "block"),
        Tile("k", &[step, depth], dtype, "shared", "iteration"),
        Tile("v", &[step, depth], dtype, "shared", "iteration"),
        Tile("t", &[block, step], "F32", "register", "node"),
        Tile("s", &[block, step], "F32", "register", "node"),
        Tile("p", &[block, step], "F32", "register", "node"),
        Tile("r", &[block], "F32", "register", "node"),
        Tile("pv", &[block, depth], "F32", "register", "node"),
        Tile("o", &[block, depth], dtype, "register", "node"),
        Tile("m", &[block], "F32", "register", "block"),
        Tile("l", &[block], "F32", "register", "block"),
        Tile("acc", &[block, depth], "F32", "register", "block"),
    ]);
    if shape.mask != Mask::None {
        draft.tiles(&[Tile("u", &[block, step], "F32", "register", "node")]);
    }
    draft.buffers("k", shape.buffers);
    draft.buffers("v", shape.buffers);
}

/// The measures of streaming attention with so many heads of queries.
fn measures(shape: Shape<'_>, heads: i64) -> Row {
    let Shape { block, step, depth, .. } = shape;
    let bytes = size(shape.dtype);
    let mut row = Row::of("attention");
    for (number, rows) in (0..).zip(cuts(shape.rows, block)) {
        row.blocks += 1;
        row.loaded += rows * depth * bytes;
        row.stored += rows * depth * bytes;
        for keys in shape.key_tiles(number) {
            row.iterations += 1;
            row.loaded += 2 * keys * depth * bytes;
            // Scores and their scale; the softmax; the products with values and the accumulator.
            row.operations += 2 * rows * keys * depth + rows * keys;
            row.operations += 4 * rows * keys + 3 * rows;
            row.operations += 2 * rows * keys * depth + 2 * rows * depth;
        }
        row.operations += rows * depth;
    }
    for measure in
        [&mut row.blocks, &mut row.iterations, &mut row.loaded, &mut row.stored, &mut row.operations]
    {
        *measure *= heads;
    }
    row.shared = block * depth * bytes + 2 * shape.buffers * step * depth * bytes;
    let kept = 4 * (2 * block + block * depth);
    let scores = 4 * block * step;
    let points = [
        // Scores and their scale; scores, weights and factors; weights, factors and products; factors and products.
        2 * scores,
        2 * scores + 4 * block,
        scores + 4 * block + 4 * block * depth,
        bytes * block * depth,
    ];
    row.register = kept + points.into_iter().max().unwrap_or(0);
    row
}

/// Attention of one head.
fn streaming(name: &str, summary: &str, shape: Shape<'_>) -> Base {
    let Shape { rows, keys, depth, dtype, .. } = shape;
    let mut draft = Draft::default();
    draft.input("Q", &[rows, depth], dtype);
    draft.input("K", &[keys, depth], dtype);
    draft.input("V", &[keys, depth], dtype);
    draft.output("O", &[rows, depth], dtype);
    tiles(&mut draft, shape);
    let mut kernel = Kernel::new("attention", &[("i", rows, shape.block)]);
    let (from, to) = match shape.mask {
        Mask::None | Mask::Masked => (None, json!([keys])),
        Mask::Causal => (None, json!([keys, ["i", shape.block]])),
        Mask::Window(window) => (Some(json!([0, ["i", 1 - window]])), json!([keys, ["i", shape.block]])),
    };
    kernel.stream("j", shape.step, from, to);
    kernel.state("m", json!("-inf"));
    kernel.state("l", json!(0));
    kernel.state("acc", json!(0));
    kernel.load("lq", "Q", "q", json!(["i", 0]));
    stream(&mut kernel, shape, |axis| json!([axis, 0]));
    kernel.store("so", "o", "O", json!(["i", 0]));
    draft.push(kernel);
    let row = measures(shape, 1);
    draft.target(row.shared, row.register);
    let clauses = ["MCI-01", "MCI-04", "MCI-06", "MCI-08", "MCI-09", "MCI-10", "MCI-11", "MCI-15"];
    base(name, summary, &clauses, draft, &[row], &[])
}

/// Attention of several heads of queries for each head of keys.
fn grouped(name: &str, summary: &str, shape: Shape<'_>, heads: i64, group: i64) -> Base {
    let Shape { rows, keys, depth, dtype, .. } = shape;
    let mut draft = Draft::default();
    draft.input("Q", &[heads, group, rows, depth], dtype);
    draft.input("K", &[heads, keys, depth], dtype);
    draft.input("V", &[heads, keys, depth], dtype);
    draft.output("O", &[heads, group, rows, depth], dtype);
    tiles(&mut draft, shape);
    let blocks = [("h", heads, 1), ("g", group, 1), ("i", rows, shape.block)];
    let mut kernel = Kernel::new("attention", &blocks);
    kernel.stream("j", shape.step, None, json!([keys]));
    kernel.state("m", json!("-inf"));
    kernel.state("l", json!(0));
    kernel.state("acc", json!(0));
    kernel.load("lq", "Q", "q", json!(["h", "g", "i", 0]));
    stream(&mut kernel, shape, |axis| json!(["h", axis, 0]));
    kernel.store("so", "o", "O", json!(["h", "g", "i", 0]));
    draft.push(kernel);
    let clauses = ["MCI-03", "MCI-05", "MCI-07", "MCI-15"];
    base(name, summary, &clauses, draft, &[measures(shape, heads * group)], &[])
}

/// Attention in three kernels, with scores and weights in global memory.
fn naive(name: &str, summary: &str, rows: i64, keys: i64, depth: i64, block: i64, step: i64) -> Base {
    let mut draft = Draft::default();
    draft.input("Q", &[rows, depth], "F16");
    draft.input("K", &[keys, depth], "F16");
    draft.input("V", &[keys, depth], "F16");
    draft.stored("S", &[rows, keys], "F32");
    draft.stored("P", &[rows, keys], "F32");
    draft.output("O", &[rows, depth], "F16");
    draft.tiles(&[
        Tile("q", &[block, depth], "F16", "shared", "block"),
        Tile("k", &[step, depth], "F16", "shared", "block"),
        Tile("s", &[block, step], "F32", "register", "block"),
        Tile("row", &[1, keys], "F32", "shared", "block"),
        Tile("most", &[1], "F32", "register", "node"),
        Tile("less", &[1, keys], "F32", "shared", "node"),
        Tile("e", &[1, keys], "F32", "shared", "node"),
        Tile("sum", &[1], "F32", "register", "node"),
        Tile("w", &[1, keys], "F32", "shared", "node"),
        Tile("p", &[block, step], "F32", "shared", "iteration"),
        Tile("v", &[step, depth], "F16", "shared", "iteration"),
        Tile("pv", &[block, depth], "F32", "register", "node"),
        Tile("acc", &[block, depth], "F32", "register", "block"),
        Tile("o", &[block, depth], "F16", "register", "node"),
    ]);
    let mut scores = Kernel::new("scores", &[("i", rows, block), ("j", keys, step)]);
    scores.load("lq", "Q", "q", json!(["i", 0]));
    scores.load("lk", "K", "k", json!(["j", 0]));
    scores.compute("qk", "matmul_nt", &["q", "k"], "s", json!({}));
    scores.end();
    scores.store("ss", "s", "S", json!(["i", "j"]));
    draft.push(scores);
    let mut softmax = Kernel::new("softmax", &[("i", rows, 1)]);
    softmax.load("ls", "S", "row", json!(["i", 0]));
    softmax.reduce("top", "max", 1, "row", "most");
    softmax.compute("sub", "sub", &["row", "most"], "less", json!({"along": "rows"}));
    softmax.compute("exp", "exp", &["less"], "e", json!({}));
    softmax.reduce("add", "sum", 1, "e", "sum");
    softmax.compute("div", "div", &["e", "sum"], "w", json!({"along": "rows"}));
    softmax.store("sp", "w", "P", json!(["i", 0]));
    draft.push(softmax);
    let mut output = Kernel::new("output", &[("i", rows, block)]);
    output.stream("j", step, None, json!([keys]));
    output.state("acc", json!(0));
    output.each();
    output.load("lp", "P", "p", json!(["i", "j"]));
    output.load("lv", "V", "v", json!(["j", 0]));
    output.compute("pvn", "matmul_nn", &["p", "v"], "pv", json!({}));
    output.update("ua", "add", &["acc", "pv"], &["acc"]);
    output.end();
    output.compute("cast", "copy", &["acc"], "o", json!({}));
    output.store("so", "o", "O", json!(["i", 0]));
    draft.push(output);
    let mut all = [Row::of("scores"), Row::of("softmax"), Row::of("output")];
    let [scores, softmax, output] = &mut all;
    for m in cuts(rows, block) {
        output.blocks += 1;
        output.stored += 2 * m * depth;
        for n in cuts(keys, step) {
            scores.blocks += 1;
            scores.iterations += 1;
            scores.loaded += 2 * (m + n) * depth;
            scores.stored += 4 * m * n;
            scores.operations += 2 * m * n * depth;
            output.iterations += 1;
            output.loaded += 4 * m * n + 2 * n * depth;
            output.operations += 2 * m * n * depth + m * depth;
        }
    }
    scores.shared = 2 * (block + step) * depth;
    scores.register = 4 * block * step;
    softmax.blocks = rows;
    softmax.iterations = rows;
    softmax.loaded = 4 * rows * keys;
    softmax.stored = 4 * rows * keys;
    // Two reductions, a difference, a power and a quotient.
    softmax.operations = rows * (2 * (keys - 1) + 3 * keys);
    // The row, and two of what is made of it.
    softmax.shared = 3 * 4 * keys;
    softmax.register = 4;
    output.shared = 4 * block * step + 2 * step * depth;
    output.register = 2 * 4 * block * depth;
    base(name, summary, &["MCI-02", "MCI-07", "MCI-12", "MCI-15"], draft, &all, &["P", "S"])
}

const PLAIN: Shape<'static> = Shape {
    rows: 256,
    keys: 256,
    depth: 64,
    block: 128,
    step: 64,
    ahead: 1,
    buffers: 2,
    dtype: "F16",
    mask: Mask::None,
};

/// All documents about attention.
pub fn all() -> Vec<Base> {
    let shape = PLAIN;
    let mut all = vec![
        streaming("attention", "streaming attention, one tile ahead", shape),
        streaming("attention-tails", "with tails along both axes", Shape { rows: 200, keys: 250, ..shape }),
        streaming("attention-plain-loads", "without prefetches", Shape { ahead: 0, buffers: 1, ..shape }),
        streaming("attention-deep", "three tiles ahead", Shape { keys: 600, ahead: 3, buffers: 4, ..shape }),
        streaming(
            "attention-short",
            "a stream shorter than its pipeline",
            Shape { keys: 100, ahead: 3, buffers: 4, ..shape },
        ),
        streaming(
            "attention-causal",
            "causal, tiles beyond the diagonal skipped",
            Shape { mask: Mask::Causal, ..shape },
        ),
        streaming("attention-masked", "causal, nothing skipped", Shape { mask: Mask::Masked, ..shape }),
        streaming("attention-window", "a window of 100 keys", Shape { mask: Mask::Window(100), ..shape }),
        streaming(
            "attention-bf16",
            "in bfloat16, with other tiles",
            Shape { block: 64, step: 32, dtype: "BF16", ..shape },
        ),
        grouped("attention-grouped", "two heads of keys, three of queries for each", shape, 2, 3),
        grouped(
            "attention-decode",
            "one query in each of four heads",
            Shape { rows: 4, block: 4, step: 32, keys: 500, ..shape },
            4,
            1,
        ),
        naive("attention-naive", "in three kernels", 256, 256, 64, 128, 64),
        naive("attention-naive-tails", "in three kernels, with tails", 200, 150, 32, 128, 64),
    ];
    // Sizes that say how much streaming is worth, and the edges of tilings; nothing is planted in these.
    let mut more = Vec::new();
    for (rows, depth, block, step) in [
        (4096, 64, 64, 64),
        (4096, 64, 128, 64),
        (4096, 64, 256, 32),
        (32768, 128, 128, 64),
        (127, 64, 128, 64),
        (129, 64, 128, 64),
        (1, 64, 1, 1),
        (65, 32, 64, 64),
    ] {
        for (kind, mask) in
            [("all", Mask::None), ("causal", Mask::Causal), ("window", Mask::Window(block + 1))]
        {
            let name = format!("attention-{rows}-{depth}-by-{block}-{step}-{kind}");
            let summary = format!("{rows} queries and keys of {depth}, tiles of {block} and {step}");
            let shape = Shape { rows, keys: rows, depth, block, step, mask, ..PLAIN };
            more.push(streaming(&name, &summary, shape));
        }
    }
    for (ahead, buffers) in [(0, 1), (1, 2), (2, 3), (5, 6)] {
        for keys in [1, 63, 64, 65, 640] {
            let name = format!("attention-{keys}-keys-{ahead}-ahead");
            let summary = format!("{keys} keys, {ahead} tiles ahead");
            more.push(streaming(&name, &summary, Shape { keys, ahead, buffers, ..PLAIN }));
        }
    }
    more.iter_mut().for_each(|base| base.is_planted = false);
    all.append(&mut more);
    all
}

/// Those of a few tiles.
pub fn small() -> Vec<Base> {
    let shape = Shape { rows: 6, keys: 10, depth: 8, block: 4, step: 4, ..PLAIN };
    let masked = |mask| Shape { keys: 6, mask, ..shape };
    vec![
        streaming("attention", "streaming attention, one tile ahead", shape),
        streaming("attention-f32", "in binary32", Shape { dtype: "F32", ..shape }),
        streaming("attention-bf16", "in bfloat16", Shape { dtype: "BF16", ..shape }),
        streaming("attention-tails", "with tails of 1", Shape { rows: 5, keys: 9, dtype: "F32", ..shape }),
        streaming("attention-plain-loads", "without prefetches", Shape { ahead: 0, buffers: 1, ..shape }),
        streaming("attention-deep", "three tiles ahead", Shape { keys: 18, ahead: 3, buffers: 4, ..shape }),
        streaming(
            "attention-short",
            "a stream shorter than its pipeline",
            Shape { keys: 3, ahead: 3, buffers: 4, ..shape },
        ),
        streaming("attention-causal", "causal, tiles beyond the diagonal skipped", masked(Mask::Causal)),
        streaming("attention-masked", "causal, nothing skipped", masked(Mask::Masked)),
        streaming("attention-window", "a window of 3 keys", masked(Mask::Window(3))),
        streaming(
            "attention-narrow",
            "a window of 2 keys, tiles of 2: first tiles of a row may be masked",
            Shape { rows: 9, keys: 9, step: 2, dtype: "F32", mask: Mask::Window(2), ..shape },
        ),
        grouped("attention-grouped", "two heads of keys, three of queries for each", shape, 2, 3),
        grouped(
            "attention-decode",
            "one query in each of two heads",
            Shape { rows: 1, keys: 9, ..shape },
            2,
            1,
        ),
        naive("attention-naive", "in three kernels", 6, 10, 8, 4, 4),
    ]
}
