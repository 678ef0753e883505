//! Programs that leave nothing to rounding: small integers through products and sums, and elements that are only moved.
//! Every bound is 0, however deep the program: one element out of place shows at the end.

use super::super::numeric::data::{coded, shuffle};
use super::super::plan::Plan;
use super::arrange::Form;
use super::ledger::{Heads, Ledger, session};
use crate::builder::{Buf, DType, Op, Result, Tiles, slug};
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::rule::clause;

use DType::{BF16, F8E4M3, F8E5M2, F16, F32, I4, I8, I32, U8};

/// Integers of `-limit..=limit` without 0, neighbours different.
pub fn integers(prng: &mut SplitMix64, n: usize, limit: u64) -> Vec<f64> {
    let mut values: Vec<f64> = Vec::with_capacity(n);
    while values.len() < n {
        let magnitude = 1.0 + prng.below(limit) as f64;
        let value = if prng.below(2) == 0 { magnitude } else { -magnitude };
        if values.last() != Some(&value) {
            values.push(value);
        }
    }
    values
}

/// Rows with a 1 or -1 in one column each, so that every column is used in turn, and in `more` other columns.
pub fn mixing(prng: &mut SplitMix64, n: usize, k: usize, more: usize) -> Vec<Vec<f64>> {
    let mut order: Vec<usize> = (0..k).collect();
    shuffle(prng, &mut order);
    let sign = |prng: &mut SplitMix64| if prng.below(2) == 0 { 1.0 } else { -1.0 };
    (0..n)
        .map(|row| {
            let mut values = vec![0.0; k];
            let mut place = order.get(row % k.max(1)).copied().unwrap_or(0);
            for _ in 0..=more {
                if let Some(value) = values.get_mut(place) {
                    *value = sign(prng);
                }
                place = (place + 1 + prng.below(k.max(2) as u64 - 1) as usize) % k.max(1);
            }
            values
        })
        .collect()
}

fn stream(what: &str) -> SplitMix64 {
    SplitMix64::for_family(&format!("execution/exact/{what}"), 0)
}

/// The cases. They depend on no seed.
pub fn plans() -> Result<Vec<Plan>> {
    use Form::{HalfPlaced, Paged, PagedReversed, Placed, Plain, Reversed, Shuffled};
    let mut plans = Vec::new();
    for (dtype, form) in
        [(F32, Reversed), (F16, Placed), (BF16, PagedReversed), (F8E4M3, Shuffled), (F8E5M2, HalfPlaced)]
    {
        let name = format!("products-{}", slug(dtype.name()));
        let about =
            format!("3 launches: three products in tiles of 5 columns and two sums, in {}", dtype.name());
        let clauses = &[clause::EXE_03, clause::EXE_09, clause::OPC_05, clause::OPC_11];
        plans.push(session(("exact", &name), &about, clauses, form, 3, |l, launch| {
            products(l, launch, dtype);
            Ok(())
        })?);
    }
    for (dtype, form) in [(F32, Shuffled), (BF16, Paged)] {
        let name = format!("grid-{}", slug(dtype.name()));
        let about =
            format!("2 launches: two products in tiles of rows and columns, and a sum, in {}", dtype.name());
        let clauses = &[clause::EXE_03, clause::OPC_06, clause::OPC_11];
        plans.push(session(("exact", &name), &about, clauses, form, 2, |l, launch| {
            grid(l, launch, dtype);
            Ok(())
        })?);
    }
    for (dtype, form) in [(F32, Plain), (BF16, Reversed), (F8E4M3, PagedReversed)] {
        let name = format!("rows-{}", slug(dtype.name()));
        let about = format!(
            "6 launches: rows of a table are gathered, appended and read back one by one, in {}; each element differs",
            dtype.name()
        );
        let clauses =
            &[clause::EXE_08, clause::EXE_09, clause::OPC_01, clause::OPC_02, clause::OPC_07, clause::OPC_16];
        plans.push(session(("exact", &name), &about, clauses, form, 6, |l, launch| {
            rows(l, launch, dtype);
            Ok(())
        })?);
    }
    for (batch, form) in [(None, Reversed), (Some(3), Plain), (Some(2), PagedReversed)] {
        let name = batch.map_or("means".to_owned(), |batch| format!("means-batch-{batch}"));
        let about =
            "4 launches: append, then the mean of a window of 1, 2, 4 and 8 rows that ends at the new row";
        let clauses = &[clause::EXE_08, clause::EXE_09, clause::OPC_07, clause::OPC_16];
        plans.push(session(("exact", &name), about, clauses, form, 4, |l, launch| {
            means(l, launch, batch);
            Ok(())
        })?);
    }
    for (name, about, rows, window, form) in [
        ("sliding", "10 launches: append, then the mean of the last 4 rows", 13, 4, Plain),
        (
            "ring",
            "10 launches: append to the rows in turn, then the mean of all 4 rows, zeros at first",
            4,
            4,
            Reversed,
        ),
    ] {
        let clauses = &[clause::EXE_08, clause::EXE_09, clause::OPC_07, clause::OPC_16];
        plans.push(session(("exact", name), about, clauses, form, 10, |l, launch| {
            sliding(l, launch as u64, rows, window);
            Ok(())
        })?);
    }
    for (parts, form) in [(2, Reversed), (4, Placed)] {
        let name = format!("merged-{parts}");
        let about = format!(
            "5 launches: the mean of 8 rows of a cache in {parts} windows, of which one may be empty"
        );
        let clauses = &[clause::EXE_08, clause::OPC_07, clause::OPC_16, clause::OPC_18];
        plans.push(session(("exact", &name), &about, clauses, form, 5, |l, launch| {
            merged(l, launch as u64, parts);
            Ok(())
        })?);
    }
    let about =
        "8 launches: each row appended is the row before and an input added; the caches hold the history";
    let clauses = &[clause::EXE_08, clause::EXE_09, clause::OPC_07, clause::OPC_11, clause::OPC_16];
    for form in [Plain, Reversed] {
        plans.push(session(("exact", "running-sum"), about, clauses, form, 8, |l, launch| {
            running_sum(l, launch as u64, false);
            Ok(())
        })?);
    }
    let about = "4 launches that all have a tensor for the cache: only that of the first counts";
    plans.push(session(("exact", "bound-once"), about, clauses, Plain, 4, |l, launch| {
        running_sum(l, launch as u64, true);
        Ok(())
    })?);
    for (store, form) in [(I8, Reversed), (I4, Plain), (U8, PagedReversed)] {
        let name = format!("quantised-{}", slug(store.name()));
        let about = "2 launches: products with integer weights whose scales and zero points differ from group to group";
        let clauses = &[clause::EXE_03, clause::OPC_05, clause::OPC_06, clause::OPC_11, clause::OPC_13];
        plans.push(session(("exact", &name), about, clauses, form, 2, |l, launch| {
            quantised(l, launch, store);
            Ok(())
        })?);
    }
    for (shards, form) in [(2, Plain), (5, Shuffled), (8, Placed)] {
        let name = format!("shards-{shards}");
        let about =
            format!("2 launches: a product cut along its columns into {shards} shards, summed in place");
        let clauses = &[clause::EXE_10, clause::OPC_05, clause::OPC_15];
        plans.push(session(("exact", &name), &about, clauses, form, 2, |l, launch| {
            shards_of(l, launch, shards);
            Ok(())
        })?);
    }
    for (rows, form) in [(1, Reversed), (3, Plain)] {
        let name = format!("walk-{rows}");
        let about =
            format!("12 launches: {rows} walks through a permutation, each step the token picked before");
        let clauses = &[clause::EXE_09, clause::OPC_02, clause::OPC_05, clause::OPC_17];
        plans.push(session(("exact", &name), &about, clauses, form, 12, |l, _| {
            walk(l, rows);
            Ok(())
        })?);
    }
    Ok(plans)
}

fn products(l: &mut Ledger, launch: usize, dtype: DType) {
    // The largest integers up to which a type has all: 2^24, 2^11, 2^8, 16 and 8.
    let (limit, more) = match dtype {
        F8E4M3 => (4, 0),
        F8E5M2 => (2, 0),
        BF16 => (9, 1),
        _ => (30, 2),
    };
    let name = slug(dtype.name());
    let mut prng = stream(&format!("products-{name}"));
    let w1 = mixing(&mut prng, 17, 16, more);
    let w2 = mixing(&mut prng, 16, 17, more);
    let w3 = mixing(&mut prng, 17, 16, more);
    let mut prng = stream(&format!("products-{name}-{launch}"));
    let x = l.input("x", dtype, &[1, 16], integers(&mut prng, 16, limit));
    let z = l.input("z", dtype, &[1, 17], integers(&mut prng, 17, limit));
    let [w1, w2, w3] = [("w1", w1), ("w2", w2), ("w3", w3)].map(|(name, rows)| l.matrix(name, dtype, rows));
    let a = l.act("a", dtype, &[1, 17]);
    let b = l.act("b", dtype, &[1, 17]);
    let c = l.act("c", dtype, &[1, 16]);
    let d = l.act("d", dtype, &[1, 16]);
    let y = l.output("y", dtype, &[1, 17]);
    let done = l.product("one", x, &w1, a, 5.into(), &[]);
    let done = l.add("two", a, z, b, &[done]);
    let done = l.product("three", b, &w2, c, 5.into(), &[done]);
    // Every other number of a type that is short of them would be out of reach.
    let done = l.add("four", c, x, d, &[done]);
    l.product("five", d, &w3, y, 5.into(), &[done]);
}

fn grid(l: &mut Ledger, launch: usize, dtype: DType) {
    let mut prng = stream("grid");
    let (w1, w2) = (mixing(&mut prng, 14, 12, 1), mixing(&mut prng, 13, 14, 1));
    let mut prng = stream(&format!("grid-{launch}"));
    let x = l.input("x", dtype, &[7, 12], integers(&mut prng, 84, 9));
    let z = l.input("z", dtype, &[7, 14], integers(&mut prng, 98, 9));
    let (w1, w2) = (l.matrix("w1", dtype, w1), l.matrix("w2", dtype, w2));
    let a = l.act("a", dtype, &[7, 14]);
    let b = l.act("b", dtype, &[7, 14]);
    let y = l.output("y", dtype, &[7, 13]);
    let done = l.product("one", x, &w1, a, Tiles { n: 5, m: Some(3) }, &[]);
    let done = l.add("two", a, z, b, &[done]);
    l.product("three", b, &w2, y, Tiles { n: 4, m: Some(2) }, &[done]);
}

/// Four query heads over two key heads of four elements.
const HEADS: Heads = Heads { heads: 4, kv_heads: 2, head_dim: 4 };

/// A query of zeros.
fn zeros(l: &mut Ledger, dtype: DType, shape: &[u64]) -> Buf {
    l.weight("no.query", dtype, shape, vec![0.0; shape.iter().product::<u64>() as usize])
}

fn rows(l: &mut Ledger, launch: usize, dtype: DType) {
    let ids = [5, 0, 10, 3, 8, 1];
    let pos = launch as u64;
    let id = ids.get(launch).copied().unwrap_or(0);
    let id_k = l.input("k.id", I32, &[1], vec![f64::from(id)]);
    let id_v = l.input("v.id", I32, &[1], vec![f64::from(11 - id)]);
    let table = l.weight("table", dtype, &[12, 8], coded(dtype, 96));
    let q = zeros(l, dtype, &[1, 16]);
    let row = [1, 2, 4];
    let [k_flat, v_flat] = ["k.flat", "v.flat"].map(|name| l.act(name, dtype, &[1, 8]));
    let [k, v] = ["k", "v"].map(|name| l.act(name, dtype, &row));
    // One row more than there are launches: it stays 0.
    let [k_cache, v_cache] = ["k_cache", "v_cache"].map(|name| l.cache(name, dtype, &[7, 2, 4], None));
    let y = l.output("y", dtype, &[1, 16]);
    let gathered = l.embed("k.embed", id_k, table, k_flat, &[]);
    let viewed = l.copy("k.view", k_flat, k, &[gathered]);
    let k_done = l.append("k.append", k, k_cache, pos, &[viewed]);
    let gathered = l.embed("v.embed", id_v, table, v_flat, &[]);
    let viewed = l.copy("v.view", v_flat, v, &[gathered]);
    let v_done = l.append("v.append", v, v_cache, pos, &[viewed]);
    // The row that was appended two launches before; at first the new one.
    let from = pos.checked_sub(2).unwrap_or(pos);
    l.mean("read", [q, k_cache, v_cache, y], HEADS, (from, 1), &[k_done, v_done]);
}

fn means(l: &mut Ledger, launch: usize, batch: Option<u64>) {
    let len = 1 << launch;
    let pos = 7 + launch as u64;
    let with = |shape: &[u64]| -> Vec<u64> { batch.into_iter().chain(shape.iter().copied()).collect() };
    let numel = |shape: &[u64]| shape.iter().product::<u64>() as usize;
    let mut prng = stream(&format!("means-{launch}"));
    let mut eights = |n: usize| -> Vec<f64> { integers(&mut prng, n, 15).iter().map(|v| v * 8.0).collect() };
    let row = with(&[2, 4]);
    let (k, v) = (eights(numel(&row)), eights(numel(&row)));
    let shape = with(&[12, 2, 4]);
    let (k_preset, v_preset) = (eights(numel(&shape)), eights(numel(&shape)));
    let (k, v) = (l.input("k", BF16, &row, k), l.input("v", BF16, &row, v));
    let k_cache = l.cache("k_cache", BF16, &shape, Some(k_preset));
    let v_cache = l.cache("v_cache", BF16, &shape, Some(v_preset));
    let query = with(&[4, 4]);
    let q = zeros(l, BF16, &query);
    let mean = l.act("mean", F32, &query);
    let y = l.output("y", BF16, &query);
    let k_done = l.append("k.append", k, k_cache, pos, &[]);
    let v_done = l.append("v.append", v, v_cache, pos, &[]);
    let done = l.mean("read", [q, k_cache, v_cache, mean], HEADS, (pos + 1 - len, len), &[k_done, v_done]);
    l.copy("last", mean, y, &[done]);
}

fn sliding(l: &mut Ledger, launch: u64, rows: u64, window: u64) {
    let mut prng = stream(&format!("sliding-{launch}"));
    let fours = |values: Vec<f64>| -> Vec<f64> { values.iter().map(|v| v * 4.0).collect() };
    let k = l.input("k", F32, &[2, 4], integers(&mut prng, 8, 9));
    let v = l.input("v", F32, &[2, 4], fours(integers(&mut prng, 8, 99)));
    let k_cache = l.cache("k_cache", F32, &[rows, 2, 4], None);
    let v_cache = l.cache("v_cache", F32, &[rows, 2, 4], None);
    let q = zeros(l, F32, &[4, 4]);
    let y = l.output("y", F32, &[4, 4]);
    // A window that slides starts with three rows that nobody has written.
    let (pos, start) = if rows == window { (launch % rows, 0) } else { (launch + window - 1, launch) };
    let k_done = l.append("k.append", k, k_cache, pos, &[]);
    let v_done = l.append("v.append", v, v_cache, pos, &[]);
    l.mean("read", [q, k_cache, v_cache, y], HEADS, (start, window), &[k_done, v_done]);
}

fn merged(l: &mut Ledger, launch: u64, parts: u64) {
    let mut prng = stream("merged");
    let preset: Vec<f64> = integers(&mut prng, 8 * 8, 60).iter().map(|v| v * 8.0).collect();
    let mut prng = stream(&format!("merged-{launch}"));
    let new: Vec<f64> = integers(&mut prng, 8, 60).iter().map(|v| v * 8.0).collect();
    let v = l.input("v", F32, &[2, 4], new);
    let k_cache = l.cache("k_cache", F32, &[8, 2, 4], Some(preset.clone()));
    let v_cache = l.cache("v_cache", F32, &[8, 2, 4], Some(preset));
    let q = zeros(l, F32, &[4, 4]);
    let names: Vec<String> = (0..parts).map(|part| format!("partial{part}")).collect();
    let partials: Vec<Buf> = names.iter().map(|name| l.act(name, F32, &[4, 6])).collect();
    let y = l.output("y", F32, &[4, 4]);
    let done = l.append("v.append", v, v_cache, launch, &[]);
    // The first window grows from no row on.
    let first = 2 * launch;
    let rest = 8 - first;
    let cut = |part: u64| first + rest * part / (parts - 1);
    let windows: Vec<(u64, u64)> = [(0, first)]
        .into_iter()
        .chain((0..parts - 1).map(|part| (cut(part), cut(part + 1) - cut(part))))
        .collect();
    l.merged_mean("merge", [q, k_cache, v_cache, y], &partials, HEADS, &windows, &[done]);
}

fn running_sum(l: &mut Ledger, launch: u64, again: bool) {
    let mut prng = stream(&format!("running-sum-{launch}"));
    let x = l.input("x", BF16, &[2, 4], integers(&mut prng, 8, 9));
    let preset: Vec<f64> = (0..9 * 8).map(|index| f64::from(index % 23) - 11.0).collect();
    let cache = l.cache("cache", BF16, &[9, 2, 4], Some(preset));
    if again && launch > 0 {
        l.stray("cache", BF16, &[9, 2, 4], &[77.0; 72]);
        l.stray("unknown", F32, &[3], &[1.0, 2.0, 3.0]);
    }
    let q = zeros(l, BF16, &[2, 4]);
    let before = l.act("before", BF16, &[2, 4]);
    let sum = l.act("sum", BF16, &[2, 4]);
    let y = l.output("y", BF16, &[2, 4]);
    let dims = Heads { heads: 2, kv_heads: 2, head_dim: 4 };
    let done = l.mean("read", [q, cache, cache, before], dims, (launch, 1), &[]);
    let done = l.add("add", before, x, sum, &[done]);
    l.append("append", sum, cache, launch + 1, &[done]);
    l.copy("last", sum, y, &[done]);
}

fn quantised(l: &mut Ledger, launch: usize, store: DType) {
    let mut prng = stream("quantised");
    // Scales are 1 and 2: even numbers can be stored with either.
    let mut weights = |n: usize, k: usize| -> Vec<Vec<f64>> {
        mixing(&mut prng, n, k, 2).iter().map(|row| row.iter().map(|v| v * 2.0).collect()).collect()
    };
    let (up, down, held) = (weights(12, 20), weights(10, 12), weights(6, 10));
    let mut prng = stream(&format!("quantised-{launch}"));
    let x = l.input("x", BF16, &[2, 20], integers(&mut prng, 40, 5));
    let z = l.input("z", F32, &[2, 12], integers(&mut prng, 24, 50));
    let scale = |row: usize, group: usize| 1.0 + ((row + group) % 2) as f64;
    let zero = |row: usize, group: usize| ((row * 3 + group * 2) % 5) as f64 - 2.0;
    let up = l.quantised("up", store, up, 8, scale, zero);
    let down = l.quantised("down", store, down, 4, scale, zero);
    let packed = l.quantised("held", store, held, 6, scale, zero);
    let a = l.act("a", F32, &[2, 12]);
    let b = l.act("b", F32, &[2, 12]);
    let c = l.act("c", F32, &[2, 10]);
    let w = l.act("w", F16, &[6, 10]);
    let y = l.output("y", F32, &[2, 6]);
    let done = l.product("up", x, &up, a, 5.into(), &[]);
    let done = l.add("add", a, z, b, &[done]);
    let one = l.product("down", b, &down, c, Tiles { n: 4, m: Some(1) }, &[done]);
    let two = l.dequant("unpack", &packed, w, &[]);
    let held = l.held(w, 10);
    l.product("last", c, &held, y, 4.into(), &[one, two]);
}

fn shards_of(l: &mut Ledger, launch: usize, shards: usize) {
    let mut prng = stream(&format!("shards-{shards}"));
    let weights: Vec<Vec<Vec<f64>>> = (0..shards).map(|_| mixing(&mut prng, 11, 6, 2)).collect();
    let mut prng = stream(&format!("shards-{shards}-{launch}"));
    let mut parts = Vec::new();
    let mut ready = Vec::new();
    for (shard, rows) in weights.into_iter().enumerate() {
        let x = l.input(&format!("x{shard}"), F16, &[1, 6], integers(&mut prng, 6, 40));
        let w = l.matrix(&format!("w{shard}"), F32, rows);
        let part = l.act(&format!("part{shard}"), F16, &[1, 11]);
        ready.push(l.product(&format!("shard{shard}"), x, &w, part, 4.into(), &[]));
        parts.push(part);
    }
    let y = l.output("y", F16, &[1, 11]);
    let last = parts.last().copied().unwrap_or(y);
    let done = l.sum("sum", &parts, last, &ready);
    let done = l.add("twice", last, last, last, &[done]);
    l.copy("last", last, y, &[done]);
}

fn walk(l: &mut Ledger, rows: u64) {
    let vocabulary = 13;
    let first = (0..rows).map(|row| (4 * row) as f64).collect();
    let token = l.fed("token_id", "next_token", &[rows], first);
    let unit = |row: usize| (0..vocabulary).map(move |column| if column == row { 1.0 } else { 0.0 });
    let table = (0..vocabulary).flat_map(unit).collect();
    let table = l.weight("embed", F16, &[vocabulary as u64, vocabulary as u64], table);
    // From token t to 6 t + 1: all 13 but one on one path of 12.
    let next = |token: usize| (6 * token + 1) % vocabulary;
    let weights = (0..vocabulary).map(|row| {
        (0..vocabulary)
            .map(|column| if next(column) == row { 3.0 } else { ((row + column) % 3) as f64 })
            .collect()
    });
    let weights = weights.collect();
    let w = l.matrix("w", F16, weights);
    let h = l.act("h", F32, &[rows, vocabulary as u64]);
    let logits = l.output("logits", F32, &[rows, vocabulary as u64]);
    let picked = l.output("next_token", I32, &[rows]);
    let done = l.embed("embed", token, table, h, &[]);
    let done = l.product("product", h, &w, logits, 4.into(), &[done]);
    l.argmax("pick", logits, picked, &[done]);
    let nop = l.p.task(Op::Nop).after(&[done]).label("nothing");
    nop.add();
}
