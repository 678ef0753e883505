//! Documents without matrix products: copies, maps, sums, norms, several regions.

use serde_json::{Value, json};

use super::{Base, Row, base};
use crate::build::{Draft, Kernel, Tile, cuts, size};

const NONE: fn() -> Value = || json!({});

/// One tile in, one tile out, without a stream.
fn copy(name: &str, extent: i64, step: i64, dtype: &str) -> Base {
    let mut draft = Draft::default();
    draft.input("X", &[extent], dtype);
    draft.output("Y", &[extent], dtype);
    draft.tiles(&[Tile("x", &[step], dtype, "register", "block")]);
    let mut kernel = Kernel::new("copy", &[("i", extent, step)]);
    kernel.load("load", "X", "x", json!(["i"]));
    kernel.end();
    kernel.store("store", "x", "Y", json!(["i"]));
    draft.push(kernel);
    let blocks = i64::try_from(cuts(extent, step).len()).unwrap_or(0);
    let bytes = extent * size(dtype);
    let row = Row {
        blocks,
        iterations: blocks,
        loaded: bytes,
        stored: bytes,
        register: step * size(dtype),
        ..Row::of("copy")
    };
    base(name, "a copy", &["MCI-01", "MCI-05", "MCI-09", "MCI-15"], draft, &[row], &[])
}

/// A chain of functions of one number, each in its own tile.
fn chain(name: &str, rows: i64, columns: i64, block: [i64; 2]) -> Base {
    let [high, wide] = block;
    let mut draft = Draft::default();
    draft.input("X", &[rows, columns], "F16");
    draft.input("B", &[columns], "F32");
    draft.output("Y", &[columns, rows], "F16");
    draft.tiles(&[
        Tile("x", &[high, wide], "F16", "shared", "block"),
        Tile("b", &[wide], "F32", "shared", "block"),
        Tile("c", &[high, wide], "F32", "register", "node"),
        Tile("d", &[high, wide], "F32", "register", "node"),
        Tile("e", &[high, wide], "F32", "register", "node"),
        Tile("f", &[high, wide], "F16", "register", "node"),
        Tile("y", &[wide, high], "F16", "register", "node"),
    ]);
    let mut kernel = Kernel::new("chain", &[("i", rows, high), ("j", columns, wide)]);
    kernel.load("lx", "X", "x", json!(["i", "j"]));
    kernel.load("lb", "B", "b", json!(["j"]));
    kernel.each();
    kernel.compute("bias", "add", &["x", "b"], "c", json!({"along": "columns"}));
    kernel.compute("gelu", "gelu", &["c"], "d", NONE());
    kernel.compute("silu", "silu", &["d"], "e", NONE());
    kernel.compute("neg", "neg", &["e"], "f", NONE());
    kernel.compute("turn", "transpose", &["f"], "y", NONE());
    kernel.store("store", "y", "Y", json!(["j", "i"]));
    draft.push(kernel);
    let mut row = Row::of("chain");
    for m in cuts(rows, high) {
        for n in cuts(columns, wide) {
            row.blocks += 1;
            row.iterations += 1;
            row.loaded += 2 * m * n + 4 * n;
            row.stored += 2 * m * n;
            row.operations += m * n * (1 + 5 + 4 + 1);
        }
    }
    row.shared = 2 * high * wide + 4 * wide;
    row.register = 8 * high * wide;
    let clauses = ["MCI-03", "MCI-05", "MCI-06", "MCI-07", "MCI-11"];
    base(name, "a chain of functions, transposed", &clauses, draft, &[row], &[])
}

/// A sum or a maximum over the columns, streamed.
fn fold(name: &str, rows: i64, columns: i64, steps: [i64; 2], ahead: i64, function: &str) -> Base {
    let [block, step] = steps;
    let mut draft = Draft::default();
    draft.input("X", &[rows, columns], "F32");
    draft.output("Y", &[rows], "F32");
    draft.tiles(&[
        Tile("x", &[block, step], "F32", "shared", "iteration"),
        Tile("part", &[block], "F32", "register", "iteration"),
        Tile("all", &[block], "F32", "register", "block"),
    ]);
    draft.buffers("x", ahead + 1);
    let mut kernel = Kernel::new("fold", &[("i", rows, block)]);
    kernel.stream("j", step, Some(json!([0])), json!([columns]));
    kernel.state("all", if function == "sum" { json!(0) } else { json!("-inf") });
    for version in 0..ahead {
        kernel.prefetch(&format!("x{version}"), "X", "x", json!(["i", "j"]), version);
    }
    kernel.each();
    if ahead == 0 {
        kernel.load("load", "X", "x", json!(["i", "j"]));
    } else {
        kernel.prefetch("next", "X", "x", json!(["i", ["j"]]), ahead);
        kernel.wait("wait", json!([["x", 0]]));
    }
    kernel.reduce("reduce", function, 1, "x", "part");
    kernel.update("keep", if function == "sum" { "add" } else { "max" }, &["all", "part"], &["all"]);
    kernel.end();
    kernel.store("store", "all", "Y", json!(["i"]));
    draft.push(kernel);
    let mut row = Row::of("fold");
    for m in cuts(rows, block) {
        row.blocks += 1;
        row.stored += 4 * m;
        for n in cuts(columns, step) {
            row.iterations += 1;
            row.loaded += 4 * m * n;
            row.operations += m * (n - 1) + m;
        }
    }
    row.shared = 4 * (ahead + 1) * block * step;
    row.register = 2 * 4 * block;
    let clauses = ["MCI-04", "MCI-08", "MCI-10", "MCI-11", "MCI-15"];
    base(name, "a reduction over the columns", &clauses, draft, &[row], &[])
}

/// RMSNorm of rows, each whole on chip.
fn norm(name: &str, rows: i64, columns: i64, block: i64) -> Base {
    let mut draft = Draft::default();
    draft.input("X", &[rows, columns], "F16");
    draft.input("W", &[columns], "F16");
    draft.output("Y", &[rows, columns], "F16");
    draft.tiles(&[
        Tile("w", &[columns], "F16", "shared", "block"),
        Tile("x", &[block, columns], "F16", "shared", "stream"),
        Tile("xx", &[block, columns], "F32", "shared", "node"),
        Tile("sum", &[block], "F32", "register", "node"),
        Tile("mean", &[block], "F32", "register", "node"),
        Tile("root", &[block], "F32", "register", "stream"),
        Tile("n", &[block, columns], "F16", "shared", "node"),
        Tile("y", &[block, columns], "F16", "shared", "node"),
    ]);
    let mut kernel = Kernel::new("norm", &[("i", rows, block)]);
    kernel.load("lw", "W", "w", json!([0]));
    kernel.load("lx", "X", "x", json!(["i", 0]));
    kernel.compute("square", "mul", &["x", "x"], "xx", NONE());
    kernel.reduce("add", "sum", 1, "xx", "sum");
    kernel.compute("mean", "scale", &["sum"], "mean", json!({"by": [1, columns]}));
    kernel.compute("root", "rsqrt", &["mean"], "root", NONE());
    kernel.each();
    kernel.compute("norm", "mul", &["x", "root"], "n", json!({"along": "rows"}));
    kernel.compute("weigh", "mul", &["n", "w"], "y", json!({"along": "columns"}));
    kernel.store("store", "y", "Y", json!(["i", 0]));
    draft.push(kernel);
    let mut row = Row::of("norm");
    for m in cuts(rows, block) {
        row.blocks += 1;
        row.iterations += 1;
        row.loaded += 2 * m * columns + 2 * columns;
        row.stored += 2 * m * columns;
        row.operations += m * columns + m * (columns - 1) + m + m + 2 * m * columns;
    }
    row.shared = 2 * columns + 2 * block * columns + 4 * block * columns;
    row.register = 8 * block;
    base(name, "RMSNorm", &["MCI-06", "MCI-11", "MCI-12"], draft, &[row], &[])
}

/// A map over a vector, streamed: a store in each iteration.
fn map(name: &str, extent: i64, step: i64, blocks: i64) -> Base {
    let mut draft = Draft::default();
    draft.input("X", &[blocks, extent], "BF16");
    draft.output("Y", &[blocks, extent], "BF16");
    draft.tiles(&[
        Tile("x", &[step], "BF16", "register", "iteration"),
        Tile("y", &[step], "BF16", "register", "iteration"),
    ]);
    let mut kernel = Kernel::new("map", &[("b", blocks, 1)]);
    kernel.stream("j", step, None, json!([extent]));
    kernel.each();
    kernel.load("load", "X", "x", json!(["b", "j"]));
    kernel.compute("half", "scale", &["x"], "y", json!({"by": [1, 2]}));
    kernel.store("store", "y", "Y", json!(["b", "j"]));
    draft.push(kernel);
    let iterations = blocks * i64::try_from(cuts(extent, step).len()).unwrap_or(0);
    let all = blocks * extent;
    let row = Row {
        blocks,
        iterations,
        loaded: 2 * all,
        stored: 2 * all,
        operations: all,
        register: 4 * step,
        ..Row::of("map")
    };
    base(name, "a map that stores in each iteration", &["MCI-05", "MCI-08", "MCI-09"], draft, &[row], &[])
}

/// Sums of parts of a vector, which a second region adds up.
fn parts(name: &str, rows: i64, columns: i64, part: i64, step: i64) -> Base {
    let all = columns / part;
    let mut draft = Draft::default();
    draft.input("X", &[rows, columns], "F32");
    draft.stored("P", &[all, rows], "F32");
    draft.output("Y", &[rows], "F32");
    draft.tiles(&[
        Tile("x", &[rows, step], "F32", "shared", "iteration"),
        Tile("s", &[rows], "F32", "register", "iteration"),
        Tile("sum", &[rows], "F32", "register", "block"),
        Tile("p", &[rows], "F32", "shared", "iteration"),
        Tile("y", &[rows], "F32", "register", "block"),
    ]);
    let mut first = Kernel::new("parts", &[("k", all, 1)]);
    // The part `k` begins at the column `k * part`.
    first.stream("j", step, None, json!([part]));
    first.state("sum", json!(0));
    first.each();
    first.load("load", "X", "x", json!([0, [[part, "k"], "j"]]));
    first.reduce("reduce", "sum", 1, "x", "s");
    first.update("keep", "add", &["sum", "s"], &["sum"]);
    first.end();
    first.store("store", "sum", "P", json!(["k", 0]));
    draft.push(first);
    let mut second = Kernel::new("sum", &[]);
    second.stream("k", 1, None, json!([all]));
    second.state("y", json!(0));
    second.each();
    second.load("load", "P", "p", json!(["k", 0]));
    second.update("keep", "add", &["y", "p"], &["y"]);
    second.end();
    second.store("store", "y", "Y", json!([0]));
    draft.push(second);
    let steps = part / step;
    let first = Row {
        blocks: all,
        iterations: all * steps,
        loaded: 4 * rows * columns,
        stored: 4 * all * rows,
        operations: all * steps * (rows * (step - 1) + rows),
        shared: 4 * rows * step,
        register: 8 * rows,
        ..Row::of("parts")
    };
    let second = Row {
        blocks: 1,
        iterations: all,
        loaded: 4 * all * rows,
        stored: 4 * rows,
        operations: all * rows,
        shared: 4 * rows,
        register: 4 * rows,
        ..Row::of("sum")
    };
    let clauses = ["MCI-02", "MCI-03", "MCI-07"];
    base(name, "sums of parts, and their sum", &clauses, draft, &[first, second], &["P"])
}

/// A sum that waits for tiles an iteration earlier, and the other ways to be on time.
fn waits(name: &str, summary: &str, keys: i64, way: &str) -> Base {
    let mut draft = Draft::default();
    draft.input("X", &[keys, 8], "F32");
    draft.output("Y", &[8], "F32");
    draft.tiles(&[
        Tile("x", &[4, 8], "F32", "shared", "stream"),
        Tile("part", &[8], "F32", "register", "node"),
        Tile("all", &[8], "F32", "register", "block"),
    ]);
    let mut kernel = Kernel::new("waits", &[]);
    kernel.stream("j", 4, None, json!([keys]));
    kernel.state("all", json!(0));
    let at = || json!(["j", 0]);
    let ahead = match way {
        "now" => 0,
        "single" | "early" => 1,
        _ => 2,
    };
    for version in 0..ahead {
        kernel.prefetch(&format!("x{version}"), "X", "x", at(), version);
    }
    match way {
        "early" => kernel.wait("w", json!([["x", 0]])),
        "earlier" => kernel.wait("w", json!([["x", 0], ["x", 1]])),
        _ => {}
    }
    kernel.each();
    if way != "single" {
        kernel.prefetch("next", "X", "x", at(), ahead);
    }
    if ["now", "single", "both"].contains(&way) {
        kernel.wait("wait", json!([["x", 0]]));
    }
    kernel.reduce("reduce", "sum", 0, "x", "part");
    match way {
        // The slot is free again, and is filled in the same iteration.
        "single" => kernel.prefetch("next", "X", "x", at(), 1),
        "early" => kernel.wait("later", json!([["x", 1]])),
        "earlier" => kernel.wait("later", json!([["x", 2]])),
        "both" => kernel.wait("later", json!([["x", 1]])),
        _ => {}
    }
    kernel.update("keep", "add", &["all", "part"], &["all"]);
    kernel.end();
    kernel.store("store", "all", "Y", json!([0]));
    draft.push(kernel);
    let buffers = if way == "single" { 1 } else { ahead + 1 };
    draft.buffers("x", buffers);
    let tiles = cuts(keys, 4);
    let row = Row {
        blocks: 1,
        iterations: i64::try_from(tiles.len()).unwrap_or(0),
        loaded: 4 * 8 * keys,
        stored: 32,
        operations: tiles.iter().map(|n| 8 * (n - 1) + 8).sum(),
        shared: 4 * 32 * buffers,
        register: 64,
        ..Row::of("waits")
    };
    base(name, summary, &["MCI-08", "MCI-10", "MCI-11"], draft, &[row], &[])
}

/// A sum whose prologue also reduces a tile of its own, in memory that is free again when the stream begins. What is prefetched takes memory
/// meanwhile.
fn prologue(name: &str, keys: i64, own: i64) -> Base {
    let mut draft = Draft::default();
    draft.input("X", &[keys, 8], "F32");
    draft.input("W", &[own, 8], "F32");
    draft.output("Y", &[8], "F32");
    draft.tiles(&[
        Tile("x", &[4, 8], "F32", "shared", "iteration"),
        Tile("w", &[own, 8], "F32", "shared", "node"),
        Tile("bias", &[8], "F32", "register", "block"),
        Tile("part", &[8], "F32", "register", "node"),
        Tile("all", &[8], "F32", "register", "block"),
        Tile("y", &[8], "F32", "register", "node"),
    ]);
    draft.buffers("x", 2);
    let mut kernel = Kernel::new("prologue", &[]);
    kernel.stream("j", 4, None, json!([keys]));
    kernel.state("all", json!(0));
    kernel.prefetch("first", "X", "x", json!(["j", 0]), 0);
    kernel.load("own", "W", "w", json!([0, 0]));
    kernel.reduce("bias", "sum", 0, "w", "bias");
    kernel.each();
    kernel.prefetch("next", "X", "x", json!(["j", 0]), 1);
    kernel.wait("wait", json!([["x", 0]]));
    kernel.reduce("reduce", "sum", 0, "x", "part");
    kernel.update("keep", "add", &["all", "part"], &["all"]);
    kernel.end();
    kernel.compute("add", "add", &["all", "bias"], "y", NONE());
    kernel.store("store", "y", "Y", json!([0]));
    draft.push(kernel);
    let tiles = cuts(keys, 4);
    let row = Row {
        blocks: 1,
        iterations: i64::try_from(tiles.len()).unwrap_or(0),
        loaded: 32 * (keys + own),
        stored: 32,
        operations: 8 * (own - 1) + tiles.iter().map(|n| 8 * (n - 1) + 8).sum::<i64>() + 8,
        // Two slots from the first prefetch on, and the tile of the prologue beside them.
        shared: 4 * 8 * (2 * 4 + own),
        register: 3 * 32,
        ..Row::of("prologue")
    };
    base(name, "a prologue with a tile of its own", &["MCI-10", "MCI-11", "MCI-15"], draft, &[row], &[])
}

/// All documents without matrix products.
pub fn all() -> Vec<Base> {
    let mut all = vec![
        copy("copy", 4096, 128, "F32"),
        copy("copy-tail", 1000, 128, "F16"),
        copy("copy-larger-tile", 100, 128, "BF16"),
        chain("chain", 96, 160, [32, 32]),
        chain("chain-tails", 100, 150, [32, 64]),
        fold("sum", 256, 4096, [64, 128], 1, "sum"),
        fold("sum-tails", 250, 1000, [64, 96], 2, "sum"),
        fold("maximum", 64, 512, [16, 64], 0, "max"),
        norm("norm", 128, 512, 16),
        norm("norm-tails", 70, 200, 16),
        map("map", 1000, 64, 3),
        map("map-whole", 512, 64, 2),
        map("map-tile", 64, 64, 2),
        map("map-tail", 40, 64, 3),
        map("map-point", 1, 1, 2),
        parts("parts", 64, 1024, 256, 64),
        waits("waits-now", "a tile that is asked for and waited for in one iteration", 30, "now"),
        waits("waits-now-whole", "the same without a tail", 64, "now"),
        waits("waits-now-once", "the same in a single iteration", 3, "now"),
        waits("waits-single", "one slot, filled after the last read", 30, "single"),
        waits("waits-early", "waits for the next iteration", 30, "early"),
        waits("waits-earlier", "waits for the iteration after the next", 30, "earlier"),
        waits("waits-both", "waits for this iteration and the next", 30, "both"),
        waits("waits-one", "a single tile, which is a tail", 3, "earlier"),
        base("nothing", "no region", &["MCI-01", "MCI-15"], Draft::default(), &[], &[]),
    ];
    let mut more = Vec::new();
    for (extent, step) in [(1, 1), (1, 64), (64, 64), (65, 64), (127, 64), (1_000_000, 4096)] {
        more.push(copy(&format!("copy-{extent}-by-{step}"), extent, step, "F16"));
    }
    for (rows, columns) in [(1, 1), (31, 65), (64, 64), (33, 1)] {
        more.push(chain(&format!("chain-{rows}-{columns}"), rows, columns, [32, 64]));
        more.push(fold(&format!("sum-{rows}-{columns}"), rows, columns, [32, 16], 1, "sum"));
        more.push(fold(&format!("maximum-{rows}-{columns}"), rows, columns, [16, 32], 0, "max"));
        more.push(norm(&format!("norm-{rows}-{columns}"), rows, columns, 8));
        more.push(map(&format!("map-{rows}-{columns}"), columns, 16, rows));
    }
    more.iter_mut().for_each(|base| base.is_planted = false);
    all.append(&mut more);
    all
}

/// Those of a few tiles.
pub fn small() -> Vec<Base> {
    vec![
        copy("copy", 11, 4, "F16"),
        chain("chain", 5, 7, [4, 4]),
        fold("sum", 5, 9, [4, 4], 1, "sum"),
        fold("sum-deep", 3, 17, [2, 4], 2, "sum"),
        fold("maximum", 5, 9, [4, 4], 0, "max"),
        norm("norm", 5, 12, 2),
        map("map", 9, 4, 3),
        parts("parts", 3, 16, 8, 4),
        waits("single", "one slot, filled after the last read", 10, "single"),
        waits("early", "waits for the next iteration", 10, "early"),
        waits("earlier", "waits for the iteration after the next", 18, "earlier"),
        waits("both", "waits for this iteration and the next", 17, "both"),
        waits("now", "a tile that is asked for and waited for in one iteration", 9, "now"),
        prologue("prologue", 9, 4),
        prologue("prologue-large", 16, 20),
        prologue("prologue-least", 3, 1),
    ]
}
