//! Caches: appends, windows over old and new rows, split windows and their merge.
//!
//! The appends are labelled `k_append` and `v_append`, the reader `attention`.

use super::Base;
use crate::builder::{Attention, Buf, Ctr, DType, Dims, Kind, Op, ProgramBuilder, Space, attention};
use megakernel_ir::rule::clause;

pub fn bases() -> Vec<Base> {
    let kv = &[clause::EXE_08, clause::EXE_09, clause::DAT_04, clause::OPC_07, clause::OPC_16][..];
    let rows = &[clause::EXE_04, clause::EXE_08, clause::OPC_07, clause::OPC_16][..];
    let mut bases = Vec::new();
    for (name, heads, kv_heads) in [("mha", 4, 4), ("gqa", 8, 2), ("mqa", 6, 1)] {
        let summary = format!("append, then attention of {heads} heads over {kv_heads} cached heads");
        let dims = Dims { heads, kv_heads, ..Dims::SMALL };
        bases.push(Base::new(format!("attention/{name}"), summary, kv, step(dims)));
    }
    for batch in [2, 3] {
        let summary = format!("append and attention of {batch} sequences over rank-4 caches");
        let dims = Dims { batch: Some(batch), ..Dims::SMALL };
        bases.push(Base::new(format!("attention/batched-{batch}"), summary, kv, step(dims)));
    }
    for parts in [2, 4, 8] {
        let summary = format!("attention in {parts} windows, merged by ATTENTION_COMBINE");
        let dims = Dims { attention: Attention::Split(parts), pos: 20, ..Dims::SMALL };
        bases.push(Base::new(
            format!("attention/split-{parts}"),
            summary,
            &[clause::OPC_07, clause::OPC_18],
            step(dims),
        ));
    }
    let dims = Dims { batch: Some(2), attention: Attention::Split(3), ..Dims::SMALL };
    let summary = "attention of 2 sequences in 3 windows, merged by ATTENTION_COMBINE";
    bases.push(Base::new(
        "attention/split-batched-3",
        summary,
        &[clause::OPC_07, clause::OPC_18],
        step(dims),
    ));
    for (name, ordered, summary) in [
        (
            "old-rows-unordered",
            false,
            "a window over the rows before the appended one, unordered with the appends",
        ),
        ("old-rows-first", true, "a window over the rows before the appended one; the appends wait for it"),
    ] {
        bases.push(Base::new(format!("attention/{name}"), summary, rows, old_rows(ordered)));
    }
    for count in [2, 4] {
        let summary = format!(
            "{count} unordered appends to different rows of each cache, then attention over all of them"
        );
        bases.push(Base::new(
            format!("attention/rows-{count}"),
            summary,
            rows,
            many_rows(count, Kind::KvCache),
        ));
    }
    let summary = "a cache of kind ACTIVATION: every row that attention reads is written in this launch";
    bases.push(Base::new("attention/activation-cache", summary, rows, many_rows(3, Kind::Activation)));
    let summary = "two ordered appends to one row, attention after both";
    bases.push(Base::new("attention/same-row-twice", summary, rows, same_row(false)));
    let summary = "append, attention, append to the same row after it, attention again";
    bases.push(Base::new("attention/row-rewritten", summary, rows, same_row(true)));
    let summary = "two unordered appends of 4 rows each to neighbouring rows";
    bases.push(Base::new("attention/blocks", summary, rows, blocks()));
    let summary =
        "an append of rows 0 to 3, attention over them, an append of rows 2 to 5, attention over all";
    bases.push(Base::new("attention/block-rewritten", summary, rows, block_rewritten()));
    bases
}

/// Inputs q, k and v for `dims`, and the two caches.
struct Operands {
    q: Buf,
    k: Buf,
    v: Buf,
    k_cache: Buf,
    v_cache: Buf,
}

fn operands(p: &mut ProgramBuilder, dims: Dims, kind: Kind, new: u64) -> Operands {
    let b = dims.batch;
    let with_batch = |shape: &[u64]| -> Vec<u64> { b.into_iter().chain(shape.iter().copied()).collect() };
    let cache = with_batch(&[dims.max_seq, dims.kv_heads, dims.head_dim]);
    let fresh: Vec<u64> = if new == 1 {
        with_batch(&[dims.kv_heads, dims.head_dim])
    } else {
        vec![new, dims.kv_heads * dims.head_dim]
    };
    Operands {
        q: p.input("q", dims.act, &with_batch(&[dims.heads, dims.head_dim])),
        k: p.input("k", dims.act, &fresh),
        v: p.input("v", dims.act, &fresh),
        k_cache: p.buffer("k_cache", kind, dims.act, &cache, Space::Hbm),
        v_cache: p.buffer("v_cache", kind, dims.act, &cache, Space::Hbm),
    }
}

fn append(p: &mut ProgramBuilder, label: &str, new: Buf, cache: Buf, pos: u64, after: &[Ctr]) -> Ctr {
    p.op(Op::KvAppend, label, &[new, cache], cache, &[("pos", pos.into())], after)
}

fn result(p: &mut ProgramBuilder, dims: Dims, name: &str) -> Buf {
    let shape: Vec<u64> = dims.batch.into_iter().chain([dims.heads, dims.head_dim]).collect();
    p.output(name, dims.act, &shape)
}

/// Both appends, then attention over rows `0..=pos`; the windows of a split are `window0`..
fn step(dims: Dims) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("attention");
    let o = operands(&mut p, dims, Kind::KvCache, 1);
    let y = result(&mut p, dims, "y");
    let k = append(&mut p, "k_append", o.k, o.k_cache, dims.pos, &[]);
    let v = append(&mut p, "v_append", o.v, o.v_cache, dims.pos, &[]);
    let window = dims.pos + 1;
    let Attention::Split(parts) = dims.attention else {
        attention(&mut p, "attention", dims, [o.q, o.k_cache, o.v_cache, y], (0, window), 0, &[k, v]);
        return p;
    };
    let shape: Vec<u64> = dims.batch.into_iter().chain([dims.heads, dims.head_dim + 2]).collect();
    let mut partials = Vec::new();
    let mut done = Vec::new();
    for part in 0..parts {
        let (start, end) = (window * part / parts, window * (part + 1) / parts);
        let partial = p.act(&format!("partial{part}"), DType::F32, &shape);
        let label = format!("window{part}");
        let operands = [o.q, o.k_cache, o.v_cache, partial];
        done.push(attention(&mut p, &label, dims, operands, (start, end - start), 2, &[k, v]));
        partials.push(partial);
    }
    p.op(Op::AttentionCombine, "combine", &partials, y, &[], &done);
    p
}

/// Attention over rows `0..pos` while row `pos` is appended: unordered, or before the appends.
fn old_rows(ordered: bool) -> ProgramBuilder {
    let dims = Dims { kv_heads: 1, heads: 2, ..Dims::SMALL };
    let mut p = ProgramBuilder::new("old-rows");
    let o = operands(&mut p, dims, Kind::KvCache, 1);
    let y = result(&mut p, dims, "y");
    let window = [o.q, o.k_cache, o.v_cache, y];
    let read = attention(&mut p, "attention", dims, window, (0, dims.pos), 0, &[]);
    let after: &[Ctr] = if ordered { &[read] } else { &[] };
    append(&mut p, "k_append", o.k, o.k_cache, dims.pos, after);
    append(&mut p, "v_append", o.v, o.v_cache, dims.pos, after);
    p
}

/// `k0`.., `v0`.. append to rows 0.. of the caches; attention reads exactly those rows.
fn many_rows(count: u64, kind: Kind) -> ProgramBuilder {
    let dims = Dims { kv_heads: 2, heads: 2, max_seq: count + 2, ..Dims::SMALL };
    let mut p = ProgramBuilder::new("rows");
    let o = operands(&mut p, dims, kind, 1);
    let y = result(&mut p, dims, "y");
    let mut done = Vec::new();
    for row in 0..count {
        done.push(append(&mut p, &format!("k{row}"), o.k, o.k_cache, row, &[]));
        done.push(append(&mut p, &format!("v{row}"), o.v, o.v_cache, row, &[]));
    }
    attention(&mut p, "attention", dims, [o.q, o.k_cache, o.v_cache, y], (0, count), 0, &done);
    p
}

/// `k_append`, perhaps `attention`, then `k_again` to the same row, then `last`.
fn same_row(read_between: bool) -> ProgramBuilder {
    let dims = Dims { kv_heads: 2, heads: 4, ..Dims::SMALL };
    let mut p = ProgramBuilder::new("same-row");
    let o = operands(&mut p, dims, Kind::KvCache, 1);
    let last = result(&mut p, dims, "last");
    let first = append(&mut p, "k_append", o.k, o.k_cache, dims.pos, &[]);
    let v = append(&mut p, "v_append", o.v, o.v_cache, dims.pos, &[]);
    let mut waits = vec![first];
    if read_between {
        let y = result(&mut p, dims, "y");
        let window = [o.q, o.k_cache, o.v_cache, y];
        waits.push(attention(&mut p, "attention", dims, window, (0, dims.pos + 1), 0, &[first, v]));
    }
    let again = append(&mut p, "k_again", o.v, o.k_cache, dims.pos, &waits);
    let window = [o.q, o.k_cache, o.v_cache, last];
    attention(&mut p, "last", dims, window, (0, dims.pos + 1), 0, &[first, v, again]);
    p
}

/// Two appends of four rows each to each cache, then attention over the eight rows.
fn blocks() -> ProgramBuilder {
    let dims = Dims { kv_heads: 2, heads: 2, max_seq: 16, ..Dims::SMALL };
    let mut p = ProgramBuilder::new("blocks");
    let o = operands(&mut p, dims, Kind::KvCache, 4);
    let y = result(&mut p, dims, "y");
    let mut done = Vec::new();
    for (index, pos) in [0, 4].into_iter().enumerate() {
        done.push(append(&mut p, &format!("k{index}"), o.k, o.k_cache, pos, &[]));
        done.push(append(&mut p, &format!("v{index}"), o.v, o.v_cache, pos, &[]));
    }
    attention(&mut p, "attention", dims, [o.q, o.k_cache, o.v_cache, y], (0, 8), 0, &done);
    p
}

/// `k_append` to rows 0 to 3, `attention` over them, `k_again` to rows 2 to 5, then `last` over rows 0 to 5.
fn block_rewritten() -> ProgramBuilder {
    let dims = Dims { kv_heads: 2, heads: 2, max_seq: 16, ..Dims::SMALL };
    let mut p = ProgramBuilder::new("block-rewritten");
    let o = operands(&mut p, dims, Kind::KvCache, 4);
    let (y, last) = (result(&mut p, dims, "y"), result(&mut p, dims, "last"));
    let first = append(&mut p, "k_append", o.k, o.k_cache, 0, &[]);
    let window = [o.q, o.k_cache, o.v_cache, y];
    let read = attention(&mut p, "attention", dims, window, (0, 4), 0, &[first]);
    let again = append(&mut p, "k_again", o.v, o.k_cache, 2, &[first, read]);
    let window = [o.q, o.k_cache, o.v_cache, last];
    attention(&mut p, "last", dims, window, (0, 6), 0, &[again]);
    p
}
