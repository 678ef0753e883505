//! Tiled matrix products: many tasks write disjoint tiles of one buffer, which a reader then takes whole.
//!
//! The tiles are labelled `tile[t0]`.., the reader `reader`.

use super::Base;
use crate::builder::{Buf, Ctr, DType, Matrix, Op, ProgramBuilder, Tiles, Weights};
use megakernel_ir::rule::clause;

pub fn bases() -> Vec<Base> {
    let gemv = &[clause::EXE_04, clause::EXE_07, clause::OPC_05][..];
    let gemm = &[clause::EXE_04, clause::EXE_07, clause::OPC_06][..];
    let mut bases = Vec::new();
    for (name, n, tile) in [
        ("one-tile", 16, 16),
        ("two-tiles", 32, 16),
        ("three-tiles", 48, 16),
        ("four-tiles", 64, 16),
        ("ragged-five", 72, 16),
        ("seven-tiles", 7, 1),
        ("sixteen-tiles", 128, 8),
    ] {
        let summary = format!("GEMV_TILE over {n} rows in tiles of {tile}, read whole");
        bases.push(Base::new(format!("gemv/{name}"), summary, gemv, product(1, n, 32, tile.into(), false)));
    }
    let summary = "GEMV_TILE with a bias vector, 3 tiles";
    bases.push(Base::new("gemv/bias-three", summary, gemv, product(1, 24, 10, 8.into(), true)));
    let summary = "GEMV_TILE over 5 rows of x at once, 4 tiles";
    bases.push(Base::new("gemv/rows-five", summary, gemv, product(5, 20, 6, 5.into(), false)));
    for (name, m, n, tile) in [
        ("grid-2x2", 8, 16, Tiles { n: 8, m: Some(4) }),
        ("grid-3x4", 12, 16, Tiles { n: 4, m: Some(4) }),
        ("ragged-grid", 10, 14, Tiles { n: 4, m: Some(4) }),
        ("one-row-of-tiles", 4, 24, Tiles { n: 8, m: Some(4) }),
    ] {
        let summary = format!("GEMM_TILE over {m} x {n}, read whole");
        bases.push(Base::new(format!("gemm/{name}"), summary, gemm, product(m, n, 12, tile, false)));
    }
    let summary = "GEMM_TILE with a bias vector, a grid of 2 x 2";
    let tiles = Tiles { n: 6, m: Some(3) };
    bases.push(Base::new("gemm/bias-grid", summary, gemm, product(6, 12, 8, tiles, true)));
    for (first, second) in [(1, 1), (2, 2), (3, 1), (5, 3)] {
        let summary = format!(
            "tiles of one buffer under two counters, {first} and {second}, both awaited by the reader"
        );
        bases.push(Base::new(format!("gemv/waves-{first}-{second}"), summary, gemv, waves(first, second)));
    }
    for tiles in [2, 5] {
        let summary = format!("{tiles} tiles of one column, of which the first is written again");
        bases.push(Base::new(format!("gemv/again-{tiles}"), summary, gemv, again(tiles)));
    }
    for (rows, columns) in [(2, 2), (3, 4)] {
        let summary = format!("{rows} by {columns} tiles of one element, written one after the other");
        let name = format!("gemm/in-order-{rows}x{columns}");
        bases.push(Base::new(name, summary, gemm, in_order(rows, columns)));
    }
    for rank in [3, 4] {
        let summary = format!("GEMV_TILE in two tiles of a buffer of rank {rank}");
        bases.push(Base::new(format!("gemv/rank-{rank}"), summary, gemv, of_rank(rank)));
    }
    let summary = "a COPY writes the whole buffer, GEMV_TILE tasks then overwrite its second half";
    bases.push(Base::new("gemv/cover-then-tile", summary, gemv, covered()));
    for count in [2, 4] {
        let summary = format!("{count} GEMV_TILE tasks write an IO_OUTPUT that nothing reads");
        bases.push(Base::new(format!("gemv/output-{count}"), summary, gemv, to_output(count)));
    }
    bases
}

/// `h = copy(x)`, `y = h W^T (+ b)` in tiles, `out = softmax(y)`.
fn product(m: u64, n: u64, k: u64, tiles: Tiles, bias: bool) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("tiles");
    let x = p.input("x", DType::F32, &[m, k]);
    let h = p.act("h", DType::F32, &[m, k]);
    let y = p.act("y", DType::F32, &[m, n]);
    let out = p.output("out", DType::F32, &[m, n]);
    let mut matrix = p.matrix("w", n, k, Weights::Float(DType::F16));
    if bias {
        matrix.operands.push(p.weight("bias", DType::F32, &[n]));
    }
    let ready = p.copy("source", x, h, &[]);
    let done = p.matmul("tile", h, &matrix, y, tiles, &[ready]);
    p.op(Op::Softmax, "reader", &[y], out, &[], &[done]);
    p
}

/// One GEMV_TILE of 8 columns.
fn tile(p: &mut ProgramBuilder, x: Buf, matrix: &Matrix, y: Buf, index: u64, out: Ctr, after: &[Ctr]) {
    let inputs: Vec<Buf> = [x].iter().chain(&matrix.operands).copied().collect();
    let task = p.task(Op::GemvTile).reads(&inputs).writes(&[y]).out(out).after(after);
    let task = task.param("K", matrix.k).param("N_tile", 8).param("n_off", index * 8);
    task.label(&format!("tile[t{index}]")).add();
}

fn waves(first: u64, second: u64) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("waves");
    let n = (first + second) * 8;
    let x = p.input("x", DType::F32, &[1, 12]);
    let y = p.act("y", DType::F32, &[1, n]);
    let out = p.output("out", DType::F32, &[1, n]);
    let matrix = p.matrix("w", n, 12, Weights::Float(DType::F32));
    let counters = [p.counter("first wave"), p.counter("second wave")];
    for index in 0..first + second {
        tile(&mut p, x, &matrix, y, index, counters[usize::from(index >= first)], &[]);
    }
    p.op(Op::Gelu, "reader", &[y], out, &[], &counters);
    p
}

/// `tile[t0]`.. write a column each, `again` writes the first anew, and `reader` waits for all of them.
fn again(tiles: u64) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("again");
    let x = p.input("x", DType::F32, &[1, 1]);
    let w = p.input("w", DType::F32, &[tiles, 1]);
    let y = p.act("y", DType::F32, &[1, tiles]);
    let out = p.output("out", DType::F32, &[1, tiles]);
    let write = |p: &mut ProgramBuilder, label: &str, column: u64, after: &[Ctr]| {
        let params = [("K", 1.into()), ("N_tile", 1.into()), ("n_off", column.into())];
        p.op(Op::GemvTile, label, &[x, w], y, &params, after)
    };
    let mut done: Vec<Ctr> = Vec::new();
    for column in 0..tiles {
        done.push(write(&mut p, &format!("tile[t{column}]"), column, &[]));
    }
    done.push(write(&mut p, "again", 0, &done[..1]));
    p.op(Op::Gelu, "reader", &[y], out, &[], &done);
    p
}

/// `tile[t0]`.. write an element each, one after the other, and `reader` waits for the last.
fn in_order(rows: u64, columns: u64) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("in-order");
    let x = p.input("x", DType::F32, &[rows, 1]);
    let w = p.input("w", DType::F32, &[columns, 1]);
    let y = p.act("y", DType::F32, &[rows, columns]);
    let out = p.output("out", DType::F32, &[rows, columns]);
    let mut done: Vec<Ctr> = Vec::new();
    for index in 0..rows * columns {
        let params = [
            ("K", 1.into()),
            ("M_tile", 1.into()),
            ("m_off", (index / columns).into()),
            ("N_tile", 1.into()),
            ("n_off", (index % columns).into()),
        ];
        done = vec![p.op(Op::GemmTile, &format!("tile[t{index}]"), &[x, w], y, &params, &done)];
    }
    p.copy("reader", y, out, &done);
    p
}

/// `tile[t0]` and `tile[t1]` write a column each of a buffer of this rank, and `reader` reads it.
fn of_rank(rank: usize) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("rank");
    let shape = |last: u64| [vec![1; rank - 1], vec![last]].concat();
    let x = p.input("x", DType::F32, &shape(3));
    let y = p.act("y", DType::F32, &shape(2));
    let out = p.output("out", DType::F32, &shape(2));
    let matrix = p.matrix("w", 2, 3, Weights::Float(DType::F32));
    let done = p.matmul("tile", x, &matrix, y, 1.into(), &[]);
    p.copy("reader", y, out, &[done]);
    p
}

/// `cover` writes all 32 columns, `tile[t2]` and `tile[t3]` then overwrite the columns 16 to 31.
fn covered() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("cover");
    let x = p.input("x", DType::F32, &[1, 12]);
    let base = p.input("base", DType::F32, &[1, 32]);
    let y = p.act("y", DType::F32, &[1, 32]);
    let out = p.output("out", DType::F32, &[1, 32]);
    let matrix = p.matrix("w", 32, 12, Weights::Float(DType::F32));
    let cover = p.copy("cover", base, y, &[]);
    let tiles = p.counter("tiles");
    for index in [2, 3] {
        tile(&mut p, x, &matrix, y, index, tiles, &[cover]);
    }
    p.op(Op::Gelu, "reader", &[y], out, &[], &[cover, tiles]);
    p
}

fn to_output(count: u64) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("output-tiles");
    let x = p.input("x", DType::F32, &[1, 12]);
    let y = p.output("y", DType::F32, &[1, count * 8]);
    let matrix = p.matrix("w", count * 8, 12, Weights::Float(DType::F32));
    let done = p.counter("tiles");
    for index in 0..count {
        tile(&mut p, x, &matrix, y, index, done, &[]);
    }
    p
}
