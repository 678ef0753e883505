//! Buffers that are written more than once: in place, overwritten after their readers, or by ordered writers.

use super::Base;
use crate::builder::{Buf, Ctr, DType, Op, ProgramBuilder, Tiles, Weights};
use megakernel_ir::rule::clause;

pub fn bases() -> Vec<Base> {
    let clauses = &[clause::EXE_05, clause::EXE_07][..];
    let mut bases = Vec::new();
    for readers in [1, 2, 3, 6] {
        let summary = format!("a buffer is read by {readers} tasks and then overwritten, after all of them");
        bases.push(Base::new(
            format!("reuse/overwrite-after-{readers}"),
            summary,
            clauses,
            overwrite(readers),
        ));
    }
    for writers in [2, 3, 5] {
        let summary = format!("{writers} ordered tasks write one buffer before it is read");
        bases.push(Base::new(
            format!("reuse/writers-{writers}"),
            summary,
            clauses,
            writers_then_read(writers, writers),
        ));
    }
    for writers in [2, 3] {
        let summary = format!("{writers} ordered tasks write one buffer, and the reader waits for the last");
        let name = format!("reuse/row-of-writers-{writers}");
        bases.push(Base::new(name, summary, clauses, writers_then_read(writers, 1)));
    }
    for steps in [1, 2, 6] {
        let summary = format!("a buffer is changed in place {steps} times, each time after the time before");
        bases.push(Base::new(format!("reuse/in-place-{steps}"), summary, &[clause::EXE_10], in_place(steps)));
    }
    let summary = "a buffer is changed in place after another task has read it";
    bases.push(Base::new("reuse/in-place-after-reader", summary, &[clause::EXE_10], in_place_after_reader()));
    for count in [2, 4] {
        let summary = format!("a buffer is filled by {count} tiles, read, filled again and read again");
        bases.push(Base::new(format!("reuse/generations-{count}"), summary, clauses, generations(count)));
    }
    let summary = "a second product reads row blocks of the first as soon as each is written";
    bases.push(Base::new(
        "reuse/pipelined-rows",
        summary,
        &[clause::EXE_04, clause::OPC_06],
        pipelined_rows(),
    ));
    let summary = "a GEMM grid with a counter for each row of tiles";
    bases.push(Base::new("gemm/row-counters-3", summary, &[clause::EXE_04, clause::OPC_06], row_counters()));
    bases.push(unread_tiles());
    bases
}

/// `first` writes y, `reader0`.. read it, `second` overwrites it, `last` reads it.
fn overwrite(readers: usize) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("overwrite");
    let x = p.input("x", DType::F32, &[2, 8]);
    let z = p.input("z", DType::F32, &[2, 8]);
    let y = p.act("y", DType::F32, &[2, 8]);
    let first = p.copy("first", x, y, &[]);
    let mut waits = vec![first];
    for index in 0..readers {
        let out = p.output(&format!("o{index}"), DType::F32, &[2, 8]);
        waits.push(p.op(Op::Softmax, &format!("reader{index}"), &[y], out, &[], &[first]));
    }
    let second = p.copy("second", z, y, &waits);
    let out = p.output("last", DType::F32, &[2, 8]);
    p.op(Op::Gelu, "last", &[y], out, &[], &[second]);
    p
}

/// `w0`.. write y one after the other, `reader` waits for so many of the last of them.
fn writers_then_read(writers: usize, awaited: usize) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("writers");
    let x = p.input("x", DType::F16, &[3, 4]);
    let y = p.act("y", DType::F16, &[3, 4]);
    let out = p.output("out", DType::F16, &[3, 4]);
    let mut done: Vec<Ctr> = Vec::new();
    for index in 0..writers {
        let before: Vec<Ctr> = done.last().copied().into_iter().collect();
        done.push(p.op(Op::Gelu, &format!("w{index}"), &[x], y, &[], &before));
    }
    p.op(Op::Softmax, "reader", &[y], out, &[], &done[writers - awaited..]);
    p
}

/// `init` writes a, `step0`.. change it in place, `last` reads it.
fn in_place(steps: usize) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("in-place");
    let x = p.input("x", DType::F32, &[4, 4]);
    let a = p.act("a", DType::F32, &[4, 4]);
    let out = p.output("out", DType::F32, &[4, 4]);
    let init = p.copy("init", x, a, &[]);
    let mut last = init;
    let ops = [Op::Add, Op::Gelu, Op::Mul, Op::SiluMul, Op::AllreduceShard, Op::Copy];
    for (index, op) in ops.into_iter().cycle().take(steps).enumerate() {
        let inputs: &[Buf] = match op {
            Op::Add | Op::SiluMul | Op::AllreduceShard => &[a, x],
            _ => &[a],
        };
        last = p.op(op, &format!("step{index}"), inputs, a, &[], &[init, last]);
    }
    p.op(Op::Softmax, "last", &[a], out, &[], &[last]);
    p
}

fn in_place_after_reader() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("in-place");
    let x = p.input("x", DType::F32, &[4, 4]);
    let a = p.act("a", DType::F32, &[4, 4]);
    let early = p.output("early", DType::F32, &[4, 4]);
    let late = p.output("late", DType::F32, &[4, 4]);
    let init = p.copy("init", x, a, &[]);
    let reader = p.op(Op::Softmax, "reader", &[a], early, &[], &[init]);
    let change = p.op(Op::Gelu, "change", &[a], a, &[], &[init, reader]);
    p.copy("last", a, late, &[change]);
    p
}

/// `one[t0]`.. fill y, `reader` reads it, `two[t0]`.. fill it again, `last` reads it.
fn generations(count: u64) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("generations");
    let x = p.input("x", DType::F32, &[1, 6]);
    let y = p.act("y", DType::F32, &[1, count * 4]);
    let early = p.output("early", DType::F32, &[1, count * 4]);
    let late = p.output("late", DType::F32, &[1, count * 4]);
    let w1 = p.matrix("w1", count * 4, 6, Weights::Float(DType::F32));
    let w2 = p.matrix("w2", count * 4, 6, Weights::Float(DType::F32));
    let one = p.matmul("one", x, &w1, y, 4.into(), &[]);
    let reader = p.op(Op::Softmax, "reader", &[y], early, &[], &[one]);
    let two = p.matmul("two", x, &w2, y, 4.into(), &[one, reader]);
    p.op(Op::Gelu, "last", &[y], late, &[], &[two]);
    p
}

/// `up0`.. write four rows of h each, `down0`.. read four rows each and wait only for those.
fn pipelined_rows() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("pipelined");
    let x = p.input("x", DType::F32, &[12, 6]);
    let h = p.act("h", DType::F32, &[12, 8]);
    let y = p.output("y", DType::F32, &[12, 4]);
    let up = p.weight("up", DType::F32, &[8, 6]);
    let down = p.weight("down", DType::F32, &[4, 8]);
    let block =
        |p: &mut ProgramBuilder, label: String, (x, w, y): (Buf, Buf, Buf), index: u64, after: &[Ctr]| {
            let (n, k) = (p.shape(w)[0], p.shape(w)[1]);
            let task = p.task(Op::GemmTile).reads(&[x, w]).writes(&[y]).after(after).label(&label);
            let task = task.param("K", k).param("N_tile", n).param("n_off", 0);
            task.param("M_tile", 4).param("m_off", index * 4).add()
        };
    let ready: Vec<Ctr> = (0..3).map(|i| block(&mut p, format!("up{i}"), (x, up, h), i, &[])).collect();
    for (index, ready) in (0..).zip(ready) {
        block(&mut p, format!("down{index}"), (h, down, y), index, &[ready]);
    }
    p
}

/// `row{r}[t{c}]` write the tiles of row r under the counter of that row, `reader` waits for three counters.
fn row_counters() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("row-counters");
    let x = p.input("x", DType::F32, &[6, 5]);
    let y = p.act("y", DType::F32, &[6, 8]);
    let out = p.output("out", DType::F32, &[6, 8]);
    let w = p.weight("w", DType::F32, &[8, 5]);
    let mut rows = Vec::new();
    for row in 0..3 {
        let done = p.counter(&format!("row {row}"));
        for column in 0..2 {
            let task = p.task(Op::GemmTile).reads(&[x, w]).writes(&[y]).out(done);
            let task = task.param("K", 5).param("N_tile", 4).param("n_off", column * 4);
            let task = task.param("M_tile", 2).param("m_off", row * 2);
            task.label(&format!("row{row}[t{column}]")).add();
        }
        rows.push(done);
    }
    p.op(Op::Softmax, "reader", &[y], out, &[], &rows);
    p
}

/// A product whose tiles nothing reads; kept beside the others because its buffer is written and never used again.
fn unread_tiles() -> Base {
    let mut p = ProgramBuilder::new("unread");
    let x = p.input("x", DType::F32, &[4, 6]);
    let y = p.act("y", DType::F32, &[4, 12]);
    let z = p.act("z", DType::F32, &[4, 12]);
    let out = p.output("out", DType::F32, &[4, 6]);
    let w = p.matrix("w", 12, 6, Weights::Float(DType::F32));
    p.matmul("row", x, &w, y, 4.into(), &[]);
    p.matmul("grid", x, &w, z, Tiles { n: 6, m: Some(2) }, &[]);
    p.op(Op::Softmax, "out", &[x], out, &[], &[]);
    Base::new("gemv/unread-tiles", "tiles that no task reads", &[clause::OPC_05, clause::OPC_06], p)
}
