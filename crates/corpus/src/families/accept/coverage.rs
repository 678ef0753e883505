//! Buffers with dozens of accesses, of which some are written twice or not at once, so that it takes more than one look to say what covers
//! a read and what comes before it.

use megakernel_ir::rule::clause;
use serde_json::Value;

use super::Base;
use super::many::{Grid, add_cache};
use crate::builder::{Buf, Ctr, DType, Kind, Op, ProgramBuilder, Space};

/// Outputs that are written in tiles.
pub const OUTPUTS: [Grid; 2] = [Grid { rows: 6, columns: 8 }, Grid { rows: 5, columns: 4 }];

/// How many columns a buffer has of which each is written by a task, and whether it is then read in place.
pub const COLUMNS: [(u64, bool); 3] = [(33, false), (71, false), (33, true)];

/// In how many columns the lower rows of each block are written.
pub const BLOCKS: [u64; 2] = [1, 4];

/// Blocks of six rows.
const BLOCK_COUNT: u64 = 7;

/// Tasks that write single elements of the row that is read.
pub const CELLS: u64 = 1024;

/// The name of the program of so many columns.
pub fn columns_base((columns, in_place): (u64, bool)) -> String {
    format!("many/columns-{columns}{}", if in_place { "-in-place" } else { "" })
}

/// The tile of a product over `k` elements: rows from `m` on and columns from `n` on, and how many of each.
fn tile(k: u64, [m, rows]: [u64; 2], [n, columns]: [u64; 2]) -> [(&'static str, Value); 5] {
    [
        ("K", k.into()),
        ("M_tile", rows.into()),
        ("m_off", m.into()),
        ("N_tile", columns.into()),
        ("n_off", n.into()),
    ]
}

/// `t{row}.{column}` write an output.
fn output(grid: &Grid) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("output-grid");
    let (height, width) = (2 * grid.rows, 3 * grid.columns);
    let x = p.input("x", DType::F32, &[height, 1]);
    let w = p.input("w", DType::F32, &[width, 1]);
    let y = p.output("y", DType::F32, &[height, width]);
    let tiles = p.counter("tiles");
    for row in 0..grid.rows {
        for column in 0..grid.columns {
            let task = p.task(Op::GemmTile).reads(&[x, w]).writes(&[y]).out(tiles);
            task.params(&grid.tile(row, column)).label(&format!("t{row}.{column}")).add();
        }
    }
    p
}

/// `t0`.. write two rows of `h` each, all but those in the middle, `again` writes those of `t3` anew, and `r0`.. read two rows each.
fn aligned(tiles: u64) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("aligned");
    let height = 2 * tiles;
    let x = p.input("x", DType::F32, &[height, 1]);
    let [w, one] = [("w", 3), ("one", 1)].map(|(name, rows)| p.input(name, DType::F32, &[rows, 1]));
    let v = p.input("v", DType::F32, &[1, 3]);
    let h = p.act("h", DType::F32, &[height, 3]);
    let y = p.output("y", DType::F32, &[height, 1]);
    let shared = p.counter("tiles");
    let mut written = vec![shared];
    let left = |index: &u64| *index != tiles / 2;
    for index in (0..tiles).filter(left) {
        let task = p.task(Op::GemmTile).reads(&[x, w]).writes(&[h]);
        let task = task.params(&tile(1, [2 * index, 2], [0, 3])).label(&format!("t{index}"));
        if index == 3 {
            written.push(task.add());
        } else {
            task.out(shared).add();
        }
    }
    let task = p.task(Op::GemmTile).reads(&[x, w]).writes(&[h]).after(&written[1..]).label("again");
    written.push(task.params(&tile(1, [6, 2], [0, 3])).add());
    for index in (0..tiles).filter(left) {
        let task = p.task(Op::GemmTile).reads(&[h, v]).writes(&[y]).after(&written);
        task.params(&tile(3, [2 * index, 2], [0, 1])).label(&format!("r{index}")).add();
    }
    p.op(Op::GemmTile, "rest", &[x, one], y, &tile(1, [tiles / 2 * 2, 2], [0, 1]), &[]);
    p
}

/// `t0`.. write a column of `h` each, and `reader` reads them. Then `late` writes the last column again; or the reader works in place.
fn columns(columns: u64, in_place: bool) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("columns");
    let x = p.input("x", DType::F32, &[1, 1]);
    let w = p.input("w", DType::F32, &[columns, 1]);
    let kind = if in_place { Kind::IoOutput } else { Kind::Activation };
    let h = p.buffer("h", kind, DType::F32, &[1, columns], Space::Hbm);
    let shared = p.counter("columns");
    let mut written = vec![shared];
    let write = |p: &mut ProgramBuilder, label: &str, column: u64, after: &[Ctr], out: Option<Ctr>| {
        let task = p.task(Op::GemvTile).reads(&[x, w]).writes(&[h]).after(after).label(label);
        let task = task.param("K", 1).param("N_tile", 1).param("n_off", column);
        if let Some(out) = out { task.out(out).add() } else { task.add() }
    };
    for column in 0..columns {
        // The last but one can be told apart.
        let out = (column + 2 != columns).then_some(shared);
        let counter = write(&mut p, &format!("t{column}"), column, &[], out);
        if out.is_none() {
            written.push(counter);
        }
    }
    if in_place {
        p.op(Op::Gelu, "reader", &[h], h, &[], &written);
    } else {
        let y = p.output("y", DType::F32, &[1, columns]);
        let read = p.copy("reader", h, y, &written);
        write(&mut p, "late", columns - 1, &[read], None);
    }
    p
}

/// `p0` writes the first element of a row, and `w1`.. the others; `p1` writes another row. `r0` reads that and `r1` the one of single
/// elements, and `again` writes the other one anew.
fn cells() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("cells");
    let width = CELLS + 1;
    let x = p.input("x", DType::F32, &[2, 1]);
    let w = p.input("w", DType::F32, &[width, 1]);
    let v = p.input("v", DType::F32, &[1, width]);
    let h = p.act("h", DType::F32, &[2, width]);
    let y = p.output("y", DType::F32, &[2, 1]);
    let cells = p.counter("cells");
    let p0 = p.op(Op::GemmTile, "p0", &[x, w], h, &tile(1, [0, 1], [0, 1]), &[]);
    let p1 = p.op(Op::GemmTile, "p1", &[x, w], h, &tile(1, [1, 1], [0, width]), &[]);
    let r0 = p.op(Op::GemmTile, "r0", &[h, v], y, &tile(width, [1, 1], [0, 1]), &[p1]);
    p.op(Op::GemmTile, "r1", &[h, v], y, &tile(width, [0, 1], [0, 1]), &[p0, cells]);
    for cell in 1..width {
        let task = p.task(Op::GemmTile).reads(&[x, w]).writes(&[h]).out(cells);
        task.params(&tile(1, [0, 1], [cell, 1])).label(&format!("w{cell}")).add();
    }
    p.op(Op::GemmTile, "again", &[x, w], h, &tile(1, [1, 1], [0, width]), &[p1, r0]);
    p
}

/// Blocks of six rows: `a{k}` writes two of them and `r{k}` reads four; `q{k}` writes the last two; when it has, `w{k}.0`.. write the last
/// four, a column or all of it each; and `late{k}` writes the first two again. `join` has the readers wait for the writers.
fn blocks(parts: u64) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("blocks");
    let height = 6 * BLOCK_COUNT;
    let x = p.input("x", DType::F32, &[height, 1]);
    let w = p.input("w", DType::F32, &[parts, 1]);
    let v = p.input("v", DType::F32, &[1, parts]);
    let h = p.act("h", DType::F32, &[height, parts]);
    let y = p.act("y", DType::F32, &[height, 1]);
    let [all, join] = ["all", "join"].map(|name| p.counter(name));
    let first: Vec<Ctr> = (0..BLOCK_COUNT).map(|block| p.counter(&format!("a{block}"))).collect();
    for (block, &first) in (0..BLOCK_COUNT).zip(&first) {
        let rows = |from: u64, count: u64| [6 * block + from, count];
        let label = |name: &str| format!("{name}{block}");
        let task = p.task(Op::GemmTile).reads(&[x, w]).writes(&[h]).out(first).label(&label("a"));
        task.params(&tile(1, rows(0, 2), [0, parts])).add();
        let params = tile(parts, rows(0, 4), [0, 1]);
        let read = p.op(Op::GemmTile, &label("r"), &[h, v], y, &params, &[first, join]);
        let q = p.op(Op::GemmTile, &label("q"), &[x, w], h, &tile(1, rows(4, 2), [0, parts]), &[]);
        for part in 0..parts {
            let task = p.task(Op::GemmTile).reads(&[x, w]).writes(&[h]).after(&[q]).out(all);
            let task = task.params(&tile(1, rows(2, 4), [part, 1]));
            task.label(&format!("w{block}.{part}")).add();
        }
        p.op(Op::GemmTile, &label("late"), &[x, w], h, &tile(1, rows(0, 2), [0, parts]), &[read]);
    }
    p.task(Op::Nop).after(&[all]).out(join).label("join").add();
    p
}

/// `a0`.. append all rows of a cache but two, and `again` one of them anew; `update` changes the cache in place, and `late` writes its first
/// row again.
fn updated() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("updated");
    let cache = p.cache("cache", DType::F32, &[34, 1, 2]);
    let new = p.input("new", DType::F32, &[1, 2]);
    let append = |p: &mut ProgramBuilder, label: &str, row: u64, after: &[Ctr], out: Option<Ctr>| {
        let task = p.task(Op::KvAppend).reads(&[new, cache]).writes(&[cache]).after(after).param("pos", row);
        let task = task.label(label);
        if let Some(out) = out { task.out(out).add() } else { task.add() }
    };
    let shared = p.counter("rows");
    let mut written = vec![shared];
    for row in 0..32 {
        let counter = append(&mut p, &format!("a{row}"), row, &[], (row != 1).then_some(shared));
        if row == 1 {
            written.push(counter);
        }
    }
    written.push(append(&mut p, "again", 1, &written[1..], None));
    let updated = p.op(Op::Gelu, "update", &[cache], cache, &[], &written);
    append(&mut p, "late", 0, &[updated], None);
    p
}

/// Reads of one buffer, as many as are said and one more, in tasks of eight each at most.
fn readers(p: &mut ProgramBuilder, name: &str, buffer: Buf, count: usize, after: &[Ctr]) -> Ctr {
    let shape = p.shape(buffer).to_vec();
    let read = p.counter(&format!("readers of {name}"));
    for first in (0..count).step_by(8) {
        let y = p.output(&format!("y{first}"), DType::F32, &shape);
        let task = p.task(Op::AllreduceShard).reads(&vec![buffer; 8.min(count - first)]).writes(&[y]);
        task.after(after).out(read).label(&format!("s{first}")).add();
    }
    read
}

/// `one`, `two` and `again` append the two rows of a cache, the second of them twice; 104 reads; and `late` writes the first row again.
fn overtaken() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("overtaken");
    let cache = p.cache("cache", DType::F32, &[2, 1, 2]);
    let new = p.input("new", DType::F32, &[1, 2]);
    let append = |p: &mut ProgramBuilder, label: &str, row: u64, after: &[Ctr]| {
        p.op(Op::KvAppend, label, &[new, cache], cache, &[("pos", row.into())], after)
    };
    let one = append(&mut p, "one", 0, &[]);
    let two = append(&mut p, "two", 1, &[]);
    let again = append(&mut p, "again", 1, &[two]);
    let read = readers(&mut p, "cache", cache, 104, &[one, two, again]);
    append(&mut p, "late", 0, &[read]);
    p
}

/// `a0` and `a1` write a buffer, one after the other, and `ra` reads it: three accesses. `b0` and `b1` write a row each of another one, which
/// many tasks read, and `last`: 512 accesses.
fn shared_lanes() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("shared-lanes");
    let x = p.input("x", DType::F32, &[2, 1]);
    let [a, b] = ["a", "b"].map(|name| p.act(name, DType::F32, &[2, 1]));
    let [ya, yb] = ["ya", "yb"].map(|name| p.output(name, DType::F32, &[2, 1]));
    let one = p.input("one", DType::F32, &[1, 1]);
    let a0 = p.copy("a0", x, a, &[]);
    let a1 = p.copy("a1", x, a, &[a0]);
    p.copy("ra", a, ya, &[a0, a1]);
    let row = |p: &mut ProgramBuilder, row: u64| {
        p.op(Op::GemmTile, &format!("b{row}"), &[x, one], b, &tile(1, [row, 1], [0, 1]), &[])
    };
    let written = [row(&mut p, 0), row(&mut p, 1)];
    readers(&mut p, "b", b, 512 - 3, &written);
    p.copy("last", b, yb, &written);
    p
}

/// The accepted programs of this file.
pub fn bases() -> Vec<Base> {
    let covers = &[clause::EXE_04, clause::EXE_08][..];
    let mut bases = Vec::new();
    for grid in &OUTPUTS {
        let (rows, columns) = (grid.rows, grid.columns);
        let summary = format!("{rows} by {columns} tiles of an output, of which every other row is shifted");
        bases.push(Base::new(format!("many/output-{rows}x{columns}"), summary, covers, output(grid)));
    }
    let summary = "each two rows of a matrix are read by the task that reads them alone, but for two that nobody writes";
    bases.push(Base::new("many/aligned-18", summary, covers, aligned(18)));
    for (count, in_place) in COLUMNS {
        let then = if in_place { "changed in place" } else { "read, and one is written again" };
        let summary = format!("{count} columns that a task each writes; then they are {then}");
        bases.push(Base::new(columns_base((count, in_place)), summary, covers, columns(count, in_place)));
    }
    let summary = "one row that a task writes, and one of which more than a thousand write an element each";
    bases.push(Base::new(format!("many/cells-{CELLS}"), summary, &[clause::EXE_07], cells()));
    for parts in BLOCKS {
        let summary = format!("blocks of rows whose lower part {parts} tasks write, after another one");
        bases.push(Base::new(format!("many/blocks-{parts}"), summary, covers, blocks(parts)));
    }
    let caches = &[clause::EXE_08, clause::EXE_09][..];
    let summary = "32 rows of a cache are appended, one of them twice, and the cache is changed in place";
    bases.push(Base::new("many/updated-32", summary, &[clause::EXE_08, clause::EXE_10], updated()));
    let mut p = ProgramBuilder::new("two-caches");
    ["one.", "two."].into_iter().for_each(|named| add_cache(&mut p, named, 12));
    let summary = "12 appends to each of two caches, and a window over every two rows";
    bases.push(Base::new("many/two-caches-12", summary, caches, p));
    let summary = "104 reads of a cache, one of whose rows is written again after them";
    bases.push(Base::new("many/overtaken-104", summary, caches, overtaken()));
    let summary = "a buffer with 3 accesses and one with 512";
    bases.push(Base::new("many/shared-lanes-512", summary, &[clause::EXE_07], shared_lanes()));
    bases
}
