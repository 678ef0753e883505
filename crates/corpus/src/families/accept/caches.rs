//! Caches that tasks change in place.
//!
//! The task is labelled `update`, the one that writes after it `overwrite`, and the last reader `reader`.

use super::Base;
use crate::builder::{Buf, DType, Op, ProgramBuilder};
use megakernel_ir::rule::clause;

const SHAPE: [u64; 3] = [4, 1, 4];

pub fn bases() -> Vec<Base> {
    let clauses = &[clause::EXE_08, clause::EXE_09, clause::EXE_10][..];
    let mut bases = Vec::new();
    for (name, op) in [
        ("gelu", Op::Gelu),
        ("add", Op::Add),
        ("mul", Op::Mul),
        ("silu-mul", Op::SiluMul),
        ("shards", Op::AllreduceShard),
        ("copy", Op::Copy),
    ] {
        let summary = "a cache is changed in place, from what earlier launches left there, and no task writes it after that";
        bases.push(Base::new(format!("cache/{name}"), summary, clauses, changed(op, Overwriter::Copy)));
    }
    for (name, by, summary) in [
        (
            "append",
            Overwriter::Append,
            "a cache is changed in place, and then a row of another one is appended",
        ),
        ("update", Overwriter::Update, "two caches are changed in place, one after the other"),
    ] {
        bases.push(Base::new(format!("cache/before-{name}"), summary, clauses, changed(Op::Gelu, by)));
    }
    let summary = "a cache is filled, and changed in place three times, each time after the time before";
    bases.push(Base::new("cache/filled-chain", summary, clauses, chain()));
    for batched in [false, true] {
        let summary = "a row of a cache is appended and attended to, then another row, and a column of all rows is overwritten";
        let name = if batched { "cache/rows-then-column-batched" } else { "cache/rows-then-column" };
        let clauses = [clause::EXE_04, clause::EXE_08];
        bases.push(Base::new(name, summary, &clauses, rows_then_column(batched)));
    }
    let summary = "all rows of a cache are appended, then it is changed in place, and filled anew";
    bases.push(Base::new("cache/appended", summary, clauses, appended()));
    bases
}

/// What writes the other cache afterwards.
#[derive(Clone, Copy)]
enum Overwriter {
    Copy,
    Append,
    Update,
}

fn inputs(op: Op, cache: Buf, x: Buf) -> Vec<Buf> {
    match op {
        Op::Add | Op::SiluMul | Op::AllreduceShard => vec![cache, x],
        _ => vec![cache],
    }
}

/// `update` changes `cache` in place, `overwrite` then writes `other`, and `reader` reads `cache`.
fn changed(op: Op, by: Overwriter) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("cache");
    let x = p.input("x", DType::F32, &SHAPE);
    let row = p.input("row", DType::F32, &[1, 4]);
    let cache = p.cache("cache", DType::F32, &SHAPE);
    let other = p.cache("other", DType::F32, &SHAPE);
    let y = p.output("y", DType::F32, &SHAPE);
    let z = p.output("z", DType::F32, &[1, 4]);
    let w = p.output("w", DType::F32, &SHAPE);
    let update = p.op(op, "update", &inputs(op, cache, x), cache, &[], &[]);
    let overwrite = match by {
        Overwriter::Copy => p.copy("overwrite", x, other, &[update]),
        Overwriter::Append => {
            p.op(Op::KvAppend, "overwrite", &[row, other], other, &[("pos", 2.into())], &[update])
        }
        Overwriter::Update => p.op(Op::Gelu, "overwrite", &[other], other, &[], &[update]),
    };
    // Whatever the others do, every input has a reader.
    p.copy("rows", row, z, &[]);
    p.copy("whole", x, w, &[]);
    p.copy("reader", cache, y, &[update, overwrite]);
    p
}

/// `fill` writes `cache`, and `update`, `again` and `overwrite` change it in place; `stash` has written `other` before.
fn chain() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("cache");
    let x = p.input("x", DType::F32, &SHAPE);
    let cache = p.cache("cache", DType::F32, &SHAPE);
    let other = p.cache("other", DType::F32, &SHAPE);
    let y = p.output("y", DType::F32, &SHAPE);
    let stash = p.copy("stash", x, other, &[]);
    let fill = p.copy("fill", x, cache, &[stash]);
    let update = p.op(Op::Gelu, "update", &[cache], cache, &[], &[fill]);
    let again = p.op(Op::Add, "again", &[cache, x], cache, &[], &[update]);
    let overwrite = p.op(Op::Mul, "overwrite", &[cache, cache], cache, &[], &[again]);
    p.copy("reader", cache, y, &[overwrite]);
    p
}

/// `first` appends row 0, `attention` reads it, `second` appends row 1, and `column` writes a column of both.
fn rows_then_column(batched: bool) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("cache");
    let shape = |extents: [u64; 3]| {
        let batch = batched.then_some(1);
        batch.into_iter().chain(extents).collect::<Vec<u64>>()
    };
    let row: &[u64] = if batched { &[1, 1, 2] } else { &[1, 2] };
    let cache = p.cache("cache", DType::F32, &shape([2, 1, 2]));
    let new = p.input("new", DType::F32, row);
    let x = p.input("x", DType::F32, &shape([2, 1, 3]));
    let w = p.weight("w", DType::F32, &[2, 3]);
    let y = p.output("y", DType::F32, row);
    let first = p.op(Op::KvAppend, "first", &[new, cache], cache, &[("pos", 0.into())], &[]);
    let params = [
        ("head_dim", 2.into()),
        ("kv_start", 0.into()),
        ("kv_len", 1.into()),
        ("scale", 0.5.into()),
        ("n_heads", 1.into()),
        ("n_kv_heads", 1.into()),
    ];
    let read = p.op(Op::AttentionTile, "attention", &[new, cache, cache], y, &params, &[first]);
    let second = p.op(Op::KvAppend, "second", &[new, cache], cache, &[("pos", 1.into())], &[read]);
    let params = [("K", 3.into()), ("N_tile", 1.into()), ("n_off", 0.into())];
    p.op(Op::GemvTile, "column", &[x, w], cache, &params, &[second]);
    p
}

/// `append` writes every row of `cache`, `update` changes it in place, `overwrite` fills it, `reader` reads it.
fn appended() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("cache");
    let x = p.input("x", DType::F32, &SHAPE);
    let rows = p.input("rows", DType::F32, &[4, 4]);
    let fewer = p.input("fewer", DType::F32, &[3, 4]);
    let cache = p.cache("cache", DType::F32, &SHAPE);
    let y = p.output("y", DType::F32, &SHAPE);
    let z = p.output("z", DType::F32, &[3, 4]);
    let append = p.op(Op::KvAppend, "append", &[rows, cache], cache, &[("pos", 0.into())], &[]);
    let update = p.op(Op::Gelu, "update", &[cache], cache, &[], &[append]);
    let overwrite = p.copy("overwrite", x, cache, &[update]);
    p.copy("rest", fewer, z, &[]);
    p.copy("reader", cache, y, &[overwrite]);
    p
}
