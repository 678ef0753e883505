//! Programs whose results tell in which order the tasks ran: buffers that are written again after their readers, fans of
//! many producers, chains in place, tasks listed or placed so that each has to wait. All of it is exact.

use super::super::plan::Plan;
use super::arrange::Form;
use super::exact::{integers, mixing};
use super::ledger::{Ledger, session};
use crate::builder::{Buf, Ctr, DType, Op, Result};
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::rule::{Clause, clause};

use DType::{F16, F32};

fn stream(what: &str, launch: usize) -> SplitMix64 {
    SplitMix64::for_family(&format!("execution/order/{what}/{launch}"), 0)
}

/// Writes one launch of a session.
type Build = fn(&mut Ledger, usize);

/// A case: its name, what it is about, its clauses, the forms that it is written in, and its launches.
type Row = (&'static str, &'static str, &'static [Clause], &'static [Form], Build);

/// Each of eight producers listed last, so that the wait for it is the one that keeps its reader back.
const EACH_OF_8: [Form; 8] = [
    Form::Late(0),
    Form::Late(1),
    Form::Late(2),
    Form::Late(3),
    Form::Late(4),
    Form::Late(5),
    Form::Late(6),
    Form::Late(7),
];

/// The cases. They depend on no seed.
pub fn plans() -> Result<Vec<Plan>> {
    use Form::{HalfPlaced, Paged, PagedReversed, Placed, Plain, Reversed, Shuffled};
    let table: &[Row] = &[
        (
            "fan-in-one-counter",
            "2 launches: 12 tasks write a tile each and share one counter; a product reads all tiles",
            &[clause::EXE_01, clause::EXE_03, clause::OPC_05],
            &[Reversed, Placed],
            |l, launch| fan_in(l, launch, true),
        ),
        (
            "fan-in-8-counters",
            "2 launches: 8 tasks write a tile each, with a counter each; a product waits for all 8",
            &[clause::EXE_01, clause::EXE_03, clause::OPC_05],
            &[Reversed, HalfPlaced],
            |l, launch| fan_in(l, launch, false),
        ),
        (
            "fan-in-17",
            "2 launches: 17 tasks write a tile each and share one counter; a product reads all tiles",
            &[clause::EXE_01, clause::EXE_03, clause::OPC_05],
            &[Reversed, Placed, Shuffled, Plain],
            |l, launch| fan_of(l, launch, 17),
        ),
        (
            "fan-in-300",
            "2 launches: 300 tasks write a column each and share one counter, more than 8 bits count; a product reads all columns",
            &[clause::EXE_01, clause::EXE_03, clause::OPC_05],
            &[Reversed, HalfPlaced, Shuffled, Plain],
            |l, launch| fan_of(l, launch, 300),
        ),
        (
            "chain-300",
            "2 launches: a chain of 300 sums, each with a buffer and a counter of its own",
            &[clause::EXE_01, clause::EXE_03, clause::OPC_11],
            &[Plain, Reversed, Shuffled, Placed],
            |l, launch| chain(l, launch, 300),
        ),
        (
            "chain-130",
            "2 launches: a chain of 130 sums, each with a buffer and a counter of its own",
            &[clause::EXE_01, clause::EXE_03, clause::OPC_11],
            &[Plain, Reversed, Shuffled, Placed],
            |l, launch| chain(l, launch, 130),
        ),
        (
            "one-by-one-40",
            "2 launches: 40 tasks, each behind the one before, write a column each and share one counter; a product reads all columns",
            &[clause::EXE_01, clause::EXE_03, clause::OPC_05],
            &[Plain, Reversed, Shuffled, Placed],
            |l, launch| one_by_one(l, launch, 40),
        ),
        (
            "one-by-one-150",
            "2 launches: 150 tasks, each behind the one before, write a column each and share one counter; a product reads all columns",
            &[clause::EXE_01, clause::EXE_03, clause::OPC_05],
            &[Plain, Reversed, Shuffled, Placed],
            |l, launch| one_by_one(l, launch, 150),
        ),
        (
            "waits-of-a-product",
            "2 launches: 8 tasks write a tile each, with a counter each; a product waits for all 8",
            &[clause::EXE_01, clause::EXE_03, clause::OPC_05],
            &EACH_OF_8,
            |l, launch| fan_in(l, launch, false),
        ),
        (
            "waits-of-a-sum",
            "2 launches: 8 tasks write a shard each, with a counter each; a sum waits for all 8",
            &[clause::EXE_01, clause::EXE_03, clause::OPC_15],
            &EACH_OF_8,
            |l, launch| shards(l, launch, false),
        ),
        (
            "waits-of-a-nop",
            "2 launches: 8 tasks write a shard each, with a counter each; a NOP waits for all 8, and a sum for the NOP",
            &[clause::EXE_01, clause::EXE_03, clause::OPC_00],
            &EACH_OF_8,
            |l, launch| shards(l, launch, true),
        ),
        (
            "written-again",
            "2 launches: a buffer is written and read three times over, each time after the readers before",
            &[clause::EXE_03, clause::EXE_07, clause::OPC_11],
            &[Reversed, Shuffled],
            written_again,
        ),
        (
            "in-place",
            "2 launches: a chain of sums and products in place, with readers in between",
            &[clause::EXE_10, clause::OPC_11, clause::OPC_12],
            &[Reversed, Plain],
            in_place,
        ),
        (
            "turns",
            "2 launches: a long chain of products of two sizes, in two dtypes",
            &[clause::EXE_03, clause::OPC_01, clause::OPC_05],
            &[Paged, PagedReversed],
            turns,
        ),
        (
            "behind-nops",
            "2 launches: the order between writers and readers goes through NOP tasks",
            &[clause::EXE_03, clause::EXE_05, clause::OPC_00],
            &[Shuffled, Placed],
            behind_nops,
        ),
        (
            "rows-as-they-come",
            "2 launches: four appends of different rows, each reader waits for the rows that it reads",
            &[clause::EXE_03, clause::EXE_04, clause::EXE_08, clause::OPC_16],
            &[Reversed],
            rows_as_they_come,
        ),
    ];
    let mut plans = Vec::new();
    for (name, dtype) in
        [("launches-66-f32", F32), ("launches-66-f16", F16), ("launches-66-bf16", DType::BF16)]
    {
        let about = "66 launches: each appends to a cache, of which one row was written long ago";
        plans.push(session(("order", name), about, &[clause::EXE_09], Plain, 66, |l, launch| {
            many_launches(l, launch, dtype);
            Ok(())
        })?);
    }
    for (name, about, clauses, forms, build) in table {
        for form in *forms {
            plans.push(session(("order", name), about, clauses, *form, 2, |l, launch| {
                build(l, launch);
                Ok(())
            })?);
        }
    }
    Ok(plans)
}

/// Sums of the one before and one of three small numbers, so that no two neighbours are alike.
fn chain(l: &mut Ledger, launch: usize, count: usize) {
    let steps = [[1.0, -1.0], [-2.0, 3.0], [2.0, -1.0]];
    let steps: Vec<Buf> = steps
        .into_iter()
        .enumerate()
        .map(|(index, step)| l.input(&format!("step-{index}"), F32, &[2], step.to_vec()))
        .collect();
    let mut from = l.input("x", F32, &[2], vec![launch as f64, 5.0]);
    let mut before: Option<Ctr> = None;
    for index in 0..count {
        let name = format!("sum-{index}");
        let last = index + 1 == count;
        let to = if last { l.output("y", F32, &[2]) } else { l.act(&name, F32, &[2]) };
        let step = steps.get(index % steps.len()).copied().unwrap_or(from);
        before = Some(l.add(&name, from, step, to, before.as_slice()));
        from = to;
    }
}

/// Rows 0 to 3, and then the first three of them again and again.
fn many_launches(l: &mut Ledger, launch: usize, dtype: DType) {
    let pos = if launch < 4 { launch } else { launch % 3 };
    let new = l.input("new", dtype, &[1, 1, 2], vec![launch as f64 + 1.0, -(launch as f64)]);
    let cache = l.cache("cache", dtype, &[4, 1, 2], None);
    let y = l.output("y", dtype, &[4, 1, 2]);
    let ready = l.append("append", new, cache, pos as u64, &[]);
    l.copy("out", cache, y, &[ready]);
    l.judge(&["y"]);
}

/// Columns of a product that become ready one at a time: each tile waits for a copy, and each copy for the one before.
fn one_by_one(l: &mut Ledger, launch: usize, count: usize) {
    let mut prng = stream("one-by-one", 0);
    let w = l.matrix("w", F32, mixing(&mut prng, count, 2, 2));
    let sums = l.matrix("sums", F32, mixing(&mut prng, 2, count, 7));
    let x = l.input("x", F32, &[1, 2], vec![1.0 + launch as f64, -2.0]);
    let wide = l.act("wide", F32, &[1, count as u64]);
    let y = l.output("y", F32, &[1, 2]);
    let done = l.p.counter("columns");
    let values = l.known_product(x, &w);
    l.write(wide, values);
    let mut before: Option<Ctr> = None;
    for column in 0..count {
        let to = l.act(&format!("copy-{column}"), F32, &[1, 2]);
        let ready = l.copy(&format!("copy-{column}"), x, to, before.as_slice());
        before = Some(ready);
        let task = l.p.task(Op::GemvTile).reads(&w.operands(to)).writes(&[wide]).after(&[ready]).out(done);
        let task = task.param("K", 2).param("N_tile", 1).param("n_off", column as u64);
        task.label(&format!("column-{column}")).add();
    }
    l.product("product", wide, &sums, y, 2.into(), &[done]);
}

fn fan_in(l: &mut Ledger, launch: usize, one: bool) {
    let mut prng = stream("fan-in", 0);
    let (wide, narrow) = (mixing(&mut prng, 24, 10, 2), mixing(&mut prng, 9, 24, 7));
    let mut prng = stream("fan-in", launch + 1);
    let x = l.input("x", F32, &[1, 10], integers(&mut prng, 10, 30));
    let (wide, narrow) = (l.matrix("wide", F32, wide), l.matrix("narrow", F32, narrow));
    let h = l.act("h", F32, &[1, 24]);
    let y = l.output("y", F32, &[1, 9]);
    if one {
        let done = l.product("tile", x, &wide, h, 2.into(), &[]);
        l.product("last", h, &narrow, y, 9.into(), &[done]);
        return;
    }
    let done = l.separate("tile", x, &wide, h, 3, &[]);
    l.product("last", h, &narrow, y, 9.into(), &done);
}

/// `n` producers of a column each, which share a counter.
fn fan_of(l: &mut Ledger, launch: usize, n: usize) {
    let mut prng = stream("fan-of", n);
    let (wide, narrow) = (mixing(&mut prng, n, 4, 1), mixing(&mut prng, 5, n, 40));
    let mut prng = stream("fan-of", launch + 1000);
    let x = l.input("x", F32, &[1, 4], integers(&mut prng, 4, 30));
    let (wide, narrow) = (l.matrix("wide", F32, wide), l.matrix("narrow", F32, narrow));
    let h = l.act("h", F32, &[1, n as u64]);
    let y = l.output("y", F32, &[1, 5]);
    let done = l.product("tile", x, &wide, h, 1.into(), &[]);
    l.product("last", h, &narrow, y, 5.into(), &[done]);
}

/// Eight shards and their sum, which waits for each of them, or for a NOP that does.
fn shards(l: &mut Ledger, launch: usize, through_nop: bool) {
    let mut prng = stream("shards", launch);
    let mut parts = Vec::new();
    let mut written = Vec::new();
    for index in 0..8 {
        let x = l.input(&format!("x{index}"), F32, &[5], integers(&mut prng, 5, 999));
        let h = l.act(&format!("h{index}"), F32, &[5]);
        written.push(l.copy(&format!("write{index}"), x, h, &[]));
        parts.push(h);
    }
    if through_nop {
        written = vec![l.p.task(Op::Nop).after(&written).label("all").add()];
    }
    let y = l.output("y", F32, &[5]);
    l.sum("last", &parts, y, &written);
}

fn written_again(l: &mut Ledger, launch: usize) {
    let mut prng = stream("written-again", launch);
    let inputs: Vec<Buf> =
        (0..3).map(|i| l.input(&format!("x{i}"), F32, &[2, 6], integers(&mut prng, 12, 500))).collect();
    let other = l.input("other", F32, &[2, 6], integers(&mut prng, 12, 500));
    let shared = l.act("shared", F32, &[2, 6]);
    let mut outputs = Vec::new();
    for name in ["a0", "b0", "a1", "b1", "a2", "b2"] {
        outputs.push(l.output(name, F32, &[2, 6]));
    }
    let mut before: Vec<Ctr> = Vec::new();
    for (index, (x, outputs)) in inputs.into_iter().zip(outputs.chunks(2)).enumerate() {
        let written = l.copy(&format!("write{index}"), x, shared, &before);
        before = vec![written];
        for (reader, output) in outputs.iter().enumerate() {
            let label = format!("read{index}.{reader}");
            before.push(match reader {
                0 => l.add(&label, shared, other, *output, &[written]),
                _ => l.copy(&label, shared, *output, &[written]),
            });
        }
    }
}

fn in_place(l: &mut Ledger, launch: usize) {
    let mut prng = stream("in-place", launch);
    let x = l.input("x", F32, &[3, 4], integers(&mut prng, 12, 9));
    let z = l.input("z", F32, &[3, 4], integers(&mut prng, 12, 9));
    let a = l.act("a", F32, &[3, 4]);
    let outputs = ["y0", "y1", "y2"].map(|name| l.output(name, F32, &[3, 4]));
    let mut done = l.copy("first", x, a, &[]);
    for (index, output) in outputs.into_iter().enumerate() {
        done = l.add(&format!("add{index}"), a, z, a, &[done]);
        done = l.mul(&format!("mul{index}"), a, x, a, &[done]);
        let read = l.copy(&format!("read{index}"), a, output, &[done]);
        done = l.scale(&format!("scale{index}"), a, 2.0, a, &[done, read]);
        done = l.sum(&format!("sum{index}"), &[a, z, x], a, &[done, read]);
    }
    let last = l.output("last", F32, &[3, 4]);
    l.copy("last", a, last, &[done]);
}

fn turns(l: &mut Ledger, launch: usize) {
    let mut prng = stream("turns", 0);
    let weights: Vec<Vec<Vec<f64>>> = (0..6)
        .map(|index| if index % 2 == 0 { mixing(&mut prng, 22, 12, 0) } else { mixing(&mut prng, 12, 22, 0) })
        .collect();
    let mut prng = stream("turns", launch + 1);
    let x = l.input("x", F32, &[1, 12], integers(&mut prng, 12, 900));
    let mut last = x;
    let mut done: Vec<Ctr> = Vec::new();
    for (index, rows) in weights.into_iter().enumerate() {
        let (n, dtype) = (rows.len() as u64, if index % 3 == 2 { F16 } else { F32 });
        let w = l.matrix(&format!("w{index}"), F32, rows);
        let h = l.act(&format!("h{index}"), dtype, &[1, n]);
        let copy = l.act(&format!("copy{index}"), F32, &[n]);
        let ready = l.product(&format!("product{index}"), last, &w, h, 6.into(), &done);
        done = vec![l.copy(&format!("copy{index}"), h, copy, &[ready])];
        last = copy;
    }
    let y = l.output("y", F32, &[1, 12]);
    l.copy("last", last, y, &done);
}

fn behind_nops(l: &mut Ledger, launch: usize) {
    let mut prng = stream("behind-nops", launch);
    let mut parts = Vec::new();
    let mut written = Vec::new();
    for index in 0..6 {
        let x = l.input(&format!("x{index}"), F32, &[8], integers(&mut prng, 8, 999));
        let h = l.act(&format!("h{index}"), F32, &[8]);
        written.push(l.copy(&format!("write{index}"), x, h, &[]));
        parts.push(h);
    }
    let first = l.p.task(Op::Nop).after(written.get(..3).unwrap_or_default()).label("first").add();
    let second = l.p.task(Op::Nop).after(written.get(3..).unwrap_or_default()).label("second").add();
    let both = l.p.task(Op::Nop).after(&[first, second]).label("both").add();
    let early = l.output("early", F32, &[8]);
    l.sum("early", parts.get(..3).unwrap_or_default(), early, &[first]);
    let y = l.output("y", F32, &[8]);
    l.sum("last", &parts, y, &[both]);
}

fn rows_as_they_come(l: &mut Ledger, launch: usize) {
    let mut prng = stream("rows-as-they-come", launch);
    let cache = l.cache("cache", F32, &[8, 1, 4], None);
    let q = l.weight("no.query", F32, &[1, 4], vec![0.0; 4]);
    let mut appended = Vec::new();
    for row in 0..4 {
        let x = l.input(&format!("x{row}"), F32, &[1, 4], integers(&mut prng, 4, 300));
        let h = l.act(&format!("h{row}"), F32, &[1, 4]);
        let done = l.scale(&format!("scale{row}"), x, 4.0, h, &[]);
        appended.push(l.append(&format!("append{row}"), h, cache, 4 * launch as u64 + row, &[done]));
    }
    let dims = super::ledger::Heads { heads: 1, kv_heads: 1, head_dim: 4 };
    for len in [1, 2, 4] {
        let y = l.output(&format!("y{len}"), F32, &[1, 4]);
        let waits: Vec<Ctr> = appended.get(..len as usize).unwrap_or_default().to_vec();
        let window = (4 * launch as u64, len);
        l.mean(&format!("mean{len}"), [q, cache, cache, y], dims, window, &waits);
    }
}
