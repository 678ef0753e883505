//! Fan-in, fan-out and diamonds: joins on shared counters and on several counters.

use super::Base;
use crate::builder::{Buf, Ctr, DType, Op, ProgramBuilder};
use megakernel_ir::rule::clause;

pub fn bases() -> Vec<Base> {
    let mut bases = Vec::new();
    for parts in 2..=8 {
        let summary = format!("{parts} COPY tasks share a counter that an ALLREDUCE_SHARD joins");
        bases.push(Base::new(
            format!("fan-in/shared-{parts}"),
            summary,
            &[clause::EXE_05, clause::OPC_15],
            fan_in(parts, true),
        ));
    }
    for parts in [2, 5, 8] {
        let summary = format!("{parts} COPY tasks with a counter each, all awaited by an ALLREDUCE_SHARD");
        bases.push(Base::new(
            format!("fan-in/separate-{parts}"),
            summary,
            &[clause::DAT_09, clause::OPC_15],
            fan_in(parts, false),
        ));
    }
    for count in [3, 9, 33] {
        let summary = format!("{count} NOP tasks share a counter that a COPY joins");
        bases.push(Base::new(
            format!("fan-in/nops-{count}"),
            summary,
            &[clause::OPC_00, clause::DAT_05],
            nop_join(count),
        ));
    }
    for count in [2, 4, 16] {
        let summary = format!("{count} tasks read what one task wrote");
        bases.push(Base::new(format!("fan-out/readers-{count}"), summary, &[clause::EXE_05], fan_out(count)));
    }
    for depth in [1, 3] {
        let summary = format!("{depth} diamonds on top of each other");
        bases.push(Base::new(
            format!("diamond/depth-{depth}"),
            summary,
            &[clause::EXE_05],
            diamonds(depth, 2),
        ));
    }
    bases.push(Base::new("diamond/wide-6", "a diamond with 6 sides", &[clause::EXE_05], diamonds(1, 6)));
    bases
}

/// `part0`.. write a buffer each, `join` reads them all.
fn fan_in(parts: u64, shared: bool) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("fan-in");
    let x = p.input("x", DType::F32, &[4, 8]);
    let y = p.output("y", DType::F32, &[4, 8]);
    let join = shared.then(|| p.counter("parts"));
    let mut inputs: Vec<Buf> = Vec::new();
    let mut waits: Vec<Ctr> = Vec::new();
    for index in 0..parts {
        let part = p.act(&format!("p{index}"), DType::F32, &[4, 8]);
        inputs.push(part);
        let label = format!("part{index}");
        let mut task = p.task(Op::Copy).reads(&[x]).writes(&[part]).label(&label);
        if let Some(join) = join {
            task = task.out(join);
        }
        waits.push(task.add());
    }
    p.task(Op::AllreduceShard).reads(&inputs).writes(&[y]).after(&waits).label("join").add();
    p
}

fn nop_join(count: usize) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("nop-join");
    let x = p.input("x", DType::F16, &[3, 5]);
    let y = p.output("y", DType::F16, &[3, 5]);
    let join = p.counter("nops");
    for index in 0..count {
        p.task(Op::Nop).out(join).label(&format!("n{index}")).add();
    }
    p.task(Op::Copy).reads(&[x]).writes(&[y]).after(&[join]).label("join").add();
    // A counter that tasks increment and nothing awaits, to which edits redirect producers.
    p.task(Op::Nop).label("loose").add();
    p
}

/// `source` writes, `reader0`.. read.
fn fan_out(count: usize) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("fan-out");
    let x = p.input("x", DType::BF16, &[2, 16]);
    let h = p.act("h", DType::BF16, &[2, 16]);
    let source = p.op(Op::Gelu, "source", &[x], h, &[], &[]);
    for index in 0..count {
        let y = p.output(&format!("y{index}"), DType::F32, &[2, 16]);
        p.op(Op::Softmax, &format!("reader{index}"), &[h], y, &[], &[source]);
    }
    p
}

/// `top{d}` is read by `side{d}.{i}`, which `bottom{d}` joins.
fn diamonds(depth: usize, sides: u64) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("diamond");
    let mut last = p.input("x", DType::F32, &[1, 24]);
    let mut done: Vec<Ctr> = Vec::new();
    for level in 0..depth {
        let top = p.act(&format!("top{level}"), DType::F32, &[1, 24]);
        let ready = p.op(Op::Gelu, &format!("top{level}"), &[last], top, &[], &done);
        let mut inputs = Vec::new();
        let mut waits = Vec::new();
        for side in 0..sides {
            let name = format!("side{level}.{side}");
            let buffer = p.act(&name, DType::F32, &[1, 24]);
            waits.push(p.op(Op::Softmax, &name, &[top], buffer, &[], &[ready]));
            inputs.push(buffer);
        }
        last = if level + 1 == depth {
            p.output("y", DType::F32, &[1, 24])
        } else {
            p.act(&format!("bottom{level}"), DType::F32, &[1, 24])
        };
        done = vec![p.op(Op::AllreduceShard, &format!("bottom{level}"), &inputs, last, &[], &waits)];
    }
    p
}
