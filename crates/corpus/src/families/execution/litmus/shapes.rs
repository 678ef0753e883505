//! What the litmus programs do. No value is negative, and in every round each element is larger than in the round before.

use super::super::ledger::{Heads, Known, Ledger};
use super::places::Places;
use crate::builder::{Buf, Ctr, DType, Op, Tiles};

use DType::{F32, I32};

/// How much larger an element is than in the round before.
const STEP: usize = 8;

/// The elements of a round; neighbours differ.
fn elements(round: usize, n: usize) -> Vec<f64> {
    (0..n).map(|i| (STEP * (round + 1) + (i * 5 + i / 8) % STEP) as f64).collect()
}

/// Rows of a table for each round, and the ids of those of one round: a large buffer from a small file.
struct Rows {
    table: Buf,
    ids: Vec<Buf>,
}

/// Rows of the table that a round has.
const OWN: usize = 4;

fn rows_of(l: &mut Ledger, rounds: usize, n: usize, width: usize) -> Rows {
    let table = (0..rounds * OWN).flat_map(|row| elements(row, width)).collect();
    let table = l.weight("table", F32, &[(rounds * OWN) as u64, width as u64], table);
    let ids = (0..rounds).map(|round| {
        let ids = (0..n).map(|i| (round * OWN + (i + i / OWN) % OWN) as f64).collect();
        l.input(&format!("ids{round}"), I32, &[n as u64], ids)
    });
    Rows { ids: ids.collect(), table }
}

/// Adds up every other column, and the rest: each element counts once.
fn halves(l: &mut Ledger, k: usize) -> Known {
    let row = |half: usize| (0..k).map(move |i| f64::from(u8::from(i % 2 == half))).collect();
    l.matrix("halves", F32, vec![row(0), row(1)])
}

/// The buffers that a program of rounds has for what its readers find.
fn outputs(l: &mut Ledger, rounds: usize, shape: &[u64]) -> Vec<Buf> {
    (0..rounds).map(|round| l.output(&format!("y{round}"), F32, shape)).collect()
}

/// Rows and columns of the large buffers: 16 KiB.
const SIDE: usize = 64;

/// Readers of the large buffers.
const READERS: u64 = 4;

/// Writes large buffers on SM 0, and reads each in parts on other SMs: who has the last rows reads first what was written
/// last. `buffer` is what a round uses. With `again`, it is written when all readers of the round before have answered.
fn large(p: &mut Places<'_>, rounds: usize, again: bool, buffer: impl Fn(&mut Ledger, usize) -> Buf) {
    let rows = rows_of(p.l, rounds, SIDE, SIDE);
    let halves = halves(p.l, SIDE);
    let outputs = outputs(p.l, rounds, &[SIDE as u64, 2]);
    let mut answered: Vec<Ctr> = Vec::new();
    for (round, (ids, y)) in rows.ids.iter().zip(outputs).enumerate() {
        let h = buffer(p.l, round);
        let waits = if again { std::mem::take(&mut answered) } else { Vec::new() };
        let label = |what: &str| format!("{what}{round}");
        let written = p.on(0, |l| l.embed(&label("write"), *ids, rows.table, h, &waits));
        let tiles = Tiles { n: 2, m: Some(SIDE as u64 / READERS) };
        answered = vec![p.each_from(1, |l| l.product(&label("read"), h, &halves, y, tiles, &[written]))];
    }
}

pub fn message(p: &mut Places<'_>) {
    large(p, 6, false, |l, round| l.act(&format!("h{round}"), F32, &[SIDE as u64, SIDE as u64]));
}

pub fn ping_pong(p: &mut Places<'_>) {
    let h = p.l.act("h", F32, &[SIDE as u64, SIDE as u64]);
    large(p, 8, true, |_, _| h);
}

pub fn pages(p: &mut Places<'_>) {
    // Each on the page of an earlier one: the pages are given out later.
    large(p, 10, true, |l, round| l.act(&format!("h{round}"), F32, &[SIDE as u64, SIDE as u64]));
}

pub fn relay(p: &mut Places<'_>) {
    let n = 512;
    let x: Vec<Buf> = (0..3).map(|i| p.l.input(&format!("x{i}"), F32, &[n as u64], elements(i, n))).collect();
    let h = p.l.act("h", F32, &[n as u64]);
    let y = p.l.output("y", F32, &[n as u64]);
    let mut done: Vec<Ctr> = Vec::new();
    for (step, x) in x.iter().cycle().take(24).enumerate() {
        done = vec![p.on(step % 4, |l| match step {
            0 => l.copy("copy", *x, h, &done),
            _ => l.add(&format!("add{step}"), h, *x, h, &done),
        })];
    }
    p.on(0, |l| l.copy("last", h, y, &done));
}

pub fn causality(p: &mut Places<'_>) {
    let (rounds, n) = (9, 256);
    let inputs: Vec<Buf> =
        (0..rounds).map(|i| p.l.input(&format!("x{i}"), F32, &[n as u64], elements(i, n))).collect();
    let [first, second] = ["first", "second"].map(|name| p.l.act(name, F32, &[n as u64]));
    let outputs = outputs(p.l, rounds, &[n as u64]);
    let mut done: Vec<Ctr> = Vec::new();
    for (round, (x, y)) in inputs.iter().zip(outputs).enumerate() {
        // The roles go round, so that every SM has read both buffers, and has written both.
        let sm = |role: usize| (role + round) % 3;
        let written = p.on(sm(0), |l| l.copy(&format!("write{round}"), *x, first, &done));
        let passed = p.on(sm(1), |l| l.add(&format!("pass{round}"), first, first, second, &[written]));
        done = vec![p.on(sm(2), |l| l.add(&format!("read{round}"), first, second, y, &[passed]))];
    }
}

pub fn behind_nops(p: &mut Places<'_>) {
    let (rounds, n) = (8, 256);
    let inputs: Vec<Buf> =
        (0..rounds).map(|i| p.l.input(&format!("x{i}"), F32, &[n as u64], elements(i, n))).collect();
    let h = p.l.act("h", F32, &[n as u64]);
    let outputs = outputs(p.l, rounds, &[n as u64]);
    let nop =
        |l: &mut Ledger, label: String, after: Ctr| l.p.task(Op::Nop).after(&[after]).label(&label).add();
    let mut done: Vec<Ctr> = Vec::new();
    for (round, (x, y)) in inputs.iter().zip(outputs).enumerate() {
        let mut last = p.on(0, |l| l.copy(&format!("write{round}"), *x, h, &done));
        for sm in [1, 2] {
            last = p.on(sm, |l| nop(l, format!("there{round}.{sm}"), last));
        }
        last = p.on(3, |l| l.copy(&format!("read{round}"), h, y, &[last]));
        for sm in [2, 1] {
            last = p.on(sm, |l| nop(l, format!("back{round}.{sm}"), last));
        }
        done = vec![last];
    }
}

pub fn join(p: &mut Places<'_>, one: bool) {
    // Tiles of 48 bytes: two SMs write one sector of 32 bytes, and three one line of 128.
    let (rounds, tile, k) = (5, 12, 8);
    let tiles = if one { 8 } else { 7 };
    let n = tiles * tile;
    let inputs: Vec<Buf> =
        (0..rounds).map(|i| p.l.input(&format!("x{i}"), F32, &[1, k as u64], elements(i, k))).collect();
    let rows = (0..n).map(|row| (0..k).map(|column| ((row + column) % 3) as f64).collect()).collect();
    let w = p.l.matrix("w", F32, rows);
    let copied = (!one).then(|| p.l.act("copied", F32, &[1, k as u64]));
    let h = p.l.act("h", F32, &[1, n as u64]);
    let outputs = outputs(p.l, rounds, &[1, n as u64]);
    let mut done: Vec<Ctr> = Vec::new();
    for (round, (x, y)) in inputs.iter().zip(outputs).enumerate() {
        let label = format!("write{round}");
        let written = match copied {
            None => p.each_from(1, |l| vec![l.product(&label, *x, &w, h, (tile as u64).into(), &done)]),
            // The first counter that the reader waits for is there long before the others.
            Some(copied) => {
                let first = p.on(1, |l| l.copy(&format!("copy{round}"), *x, copied, &done));
                let others = p.each_from(2, |l| l.separate(&label, copied, &w, h, tile as u64, &[first]));
                [vec![first], others].concat()
            }
        };
        done = vec![p.on(0, |l| l.copy(&format!("read{round}"), h, y, &written))];
    }
}

pub fn fork(p: &mut Places<'_>) {
    let (rounds, readers, rows, width) = (5, 8, 16, 24);
    let table = rows_of(p.l, rounds, rows, width);
    let halves = halves(p.l, width);
    let h = p.l.act("h", F32, &[rows as u64, width as u64]);
    let mut answered: Vec<Ctr> = Vec::new();
    for (round, ids) in table.ids.iter().enumerate() {
        let written = p.on(0, |l| l.embed(&format!("write{round}"), *ids, table.table, h, &answered));
        answered.clear();
        for reader in 0..readers {
            let y = p.l.output(&format!("y{round}.{reader}"), F32, &[rows as u64, 2]);
            let label = format!("read{round}.{reader}");
            let whole = Tiles { n: 2, m: Some(rows as u64) };
            answered.push(p.on(1 + reader, |l| l.product(&label, h, &halves, y, whole, &[written])));
        }
    }
}

pub fn all_to_all(p: &mut Places<'_>) {
    let (rounds, sms, n) = (16, 4, 48);
    // All differ, and each comes to another place in every round, also in that after the next, which writes the same buffer.
    let x = p.l.input("x", F32, &[1, n], (1..=n).map(|i| i as f64).collect());
    let row = |i: usize| {
        let from = (i * 5 + 1) % n as usize;
        (0..n as usize).map(|k| f64::from(u8::from(k == from))).collect::<Vec<f64>>()
    };
    let w = p.l.matrix("w", F32, (0..n as usize).map(row).collect());
    let [a, b] = ["a", "b"].map(|name| p.l.act(name, F32, &[1, n]));
    let y = p.l.output("y", F32, &[1, n]);
    let mut from = x;
    let mut done: Vec<Ctr> = Vec::new();
    for round in 0..rounds {
        let to = if round + 1 == rounds { y } else { [a, b][round % 2] };
        let tile = (n / sms).into();
        done = vec![p.each_from(0, |l| l.product(&format!("round{round}"), from, &w, to, tile, &done))];
        from = to;
    }
}

pub fn rows(p: &mut Places<'_>) {
    // Four rows a sector: who reads a row has the next three in its cache, as they were.
    let (steps, width) = (20, 2);
    let cache = p.l.cache("cache", F32, &[steps + 1, 1, width], None);
    let q = p.l.weight("no.query", F32, &[1, width], vec![0.0; width as usize]);
    let inputs: Vec<Buf> = (0..steps as usize)
        .map(|i| p.l.input(&format!("x{i}"), F32, &[1, width], elements(i, width as usize)))
        .collect();
    let dims = Heads { heads: 1, kv_heads: 1, head_dim: width };
    let mut done: Vec<Ctr> = Vec::new();
    for (step, x) in (0..).zip(inputs) {
        let [before, sum] = ["before", "sum"].map(|name| p.l.act(&format!("{name}{step}"), F32, &[1, width]));
        let label = |what: &str| format!("{what}{step}");
        done = vec![p.on(step as usize % 3, |l| {
            let read = l.mean(&label("read"), [q, cache, cache, before], dims, (step, 1), &done);
            let added = l.add(&label("add"), before, x, sum, &[read]);
            l.append(&label("append"), sum, cache, step + 1, &[added])
        })];
    }
}

pub fn token(p: &mut Places<'_>) {
    let vocabulary = 13;
    let first = p.l.input("first", I32, &[1], vec![0.0]);
    let unit = |row: usize| (0..vocabulary).map(move |column| f64::from(u8::from(column == row)));
    let table = (0..vocabulary).flat_map(unit).collect();
    let table = p.l.weight("embed", F32, &[vocabulary as u64, vocabulary as u64], table);
    // From token t to 6 t + 1: 12 steps, and no token twice.
    let row = |row: usize| {
        let score =
            move |column: usize| if (6 * column + 1) % vocabulary == row { 3 } else { (row + column) % 3 };
        (0..vocabulary).map(move |column| score(column) as f64).collect::<Vec<f64>>()
    };
    let w = p.l.matrix("w", F32, (0..vocabulary).map(row).collect());
    let token = p.l.act("token", I32, &[1]);
    let [h, logits] = ["h", "logits"].map(|name| p.l.act(name, F32, &[1, vocabulary as u64]));
    let mut done = vec![p.on(0, |l| l.copy_ints("first", first, token, &[]))];
    for step in 0..12 {
        let label = |what: &str| format!("{what}{step}");
        let y = p.l.output(&label("y"), I32, &[1]);
        let gathered = p.on(1, |l| l.embed(&label("embed"), token, table, h, &done));
        let scored = p.on(2, |l| l.product(&label("product"), h, &w, logits, 13.into(), &[gathered]));
        let picked = p.on(0, |l| l.argmax(&label("pick"), logits, token, &[scored]));
        done = vec![p.on(3, |l| l.copy_ints(&label("copy"), token, y, &[picked]))];
    }
}
