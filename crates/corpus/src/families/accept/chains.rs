//! Chains: every task reads what the task before it wrote. Tasks are labelled `t0`, `t1`, ...

use megakernel_ir::rule::clause;
use serde_json::json;

use super::Base;
use crate::builder::{Buf, Ctr, DType, Op, ProgramBuilder, clause_of, laptop, slug};

pub fn bases() -> Vec<Base> {
    let mut bases: Vec<Base> = [
        (Op::Copy, 1, 16),
        (Op::Gelu, 2, 33),
        (Op::Add, 3, 16),
        (Op::Mul, 5, 7),
        (Op::RmsNorm, 8, 64),
        (Op::LayerNorm, 4, 12),
        (Op::Softmax, 16, 5),
        (Op::SiluMul, 6, 128),
    ]
    .into_iter()
    .map(|(op, length, width)| {
        let p = chain(op, length, width, 1);
        let clauses = [clause::EXE_01, clause::EXE_05, clause_of(op)];
        let name = format!("chain/{}-{length}", slug(op.name()));
        Base::new(name, format!("a chain of {length} {} tasks", op.name()), &clauses, p)
    })
    .collect();
    for length in [4, 9] {
        bases.push(Base::new(
            format!("chain/redundant-waits-{length}"),
            format!("a chain of {length} COPY tasks, each waiting for the two before it"),
            &[clause::EXE_05, clause::DAT_07],
            chain(Op::Copy, length, 16, 2),
        ));
    }
    let mut p = chain(Op::Gelu, 6, 16, 1);
    p.target(laptop());
    p.assign(|task| Some(task % 4));
    let summary = "a chain of 6 GELU tasks handed round 4 SMs";
    bases.push(Base::new("chain/round-robin-6", summary, &[clause::EXE_02], p));
    let mut p = chain(Op::Copy, 5, 16, 1);
    p.target(laptop());
    p.assign(|_| Some(2));
    bases.push(Base::new(
        "chain/one-sm-5",
        "a chain of 5 COPY tasks in the queue of one SM",
        &[clause::EXE_02],
        p,
    ));
    let mut p = ProgramBuilder::new("nop-chain");
    nops(&mut p, 8);
    bases.push(Base::new(
        "chain/nop-8",
        "a chain of 8 NOP tasks, which touch no buffer",
        &[clause::OPC_00, clause::DAT_05],
        p,
    ));
    for length in [4, 7] {
        let mut p = ProgramBuilder::new("nop-chain");
        let mut counters: Vec<Ctr> =
            (0..length).map(|index| p.counter(&format!("of the task {index} from the end"))).collect();
        counters.reverse();
        for (index, &own) in counters.iter().enumerate() {
            let before: Vec<Ctr> = index.checked_sub(1).map(|before| counters[before]).into_iter().collect();
            p.task(Op::Nop).after(&before).out(own).label(&format!("t{index}")).add();
        }
        let summary =
            format!("a chain of {length} NOP tasks, whose counters are numbered from the last one on");
        bases.push(Base::new(
            format!("chain/backwards-{length}"),
            summary,
            &[clause::OPC_00, clause::DAT_05],
            p,
        ));
    }
    let mut p = chain(Op::Copy, 3, 16, 1);
    let side = p.task(Op::Nop).after(&[Ctr(0)]).label("side").add();
    p.task(Op::Nop).after(&[side]).label("after_side").add();
    p.task(Op::Nop).label("loose").add();
    let summary = "a chain of 3 COPY tasks with a side branch of NOP tasks and a NOP on its own";
    bases.push(Base::new("chain/side-branch", summary, &[clause::EXE_05, clause::OPC_00], p));
    bases
}

fn nops(p: &mut ProgramBuilder, length: usize) {
    let mut last: Vec<Ctr> = Vec::new();
    for index in 0..length {
        last = vec![p.task(Op::Nop).after(&last).label(&format!("t{index}")).add()];
    }
}

/// A chain in which each task waits for the `reach` tasks before it.
fn chain(op: Op, length: usize, width: u64, reach: usize) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("chain");
    let x = p.input("x", DType::F32, &[1, width]);
    let extra: Vec<Buf> = match op {
        Op::Add | Op::SiluMul => vec![x],
        Op::RmsNorm => vec![p.weight("w", DType::F32, &[width])],
        Op::LayerNorm => vec![p.weight("w", DType::F32, &[width]), p.weight("b", DType::F32, &[width])],
        _ => Vec::new(),
    };
    let mut last = x;
    let mut done: Vec<Ctr> = Vec::new();
    for index in 0..length {
        let y = if index + 1 == length {
            p.output("y", DType::F32, &[1, width])
        } else {
            p.act(&format!("a{index}"), DType::F32, &[1, width])
        };
        let mut inputs = vec![last];
        inputs.extend(&extra);
        let recent: Vec<Ctr> = done.iter().rev().take(reach).copied().collect();
        let mut task = p.task(op).reads(&inputs).writes(&[y]).after(&recent).label(&format!("t{index}"));
        match op {
            Op::RmsNorm | Op::LayerNorm => task = task.param("eps", 1e-5).param("hidden", width),
            Op::Softmax => task = task.param("dim", -1),
            Op::Mul => task = task.param("scale", json!(0.5)),
            _ => {}
        }
        done.push(task.add());
        last = y;
    }
    p
}
