//! Programs with SM assignments whose queues can be made to block each other.

use super::Base;
use crate::builder::{Buf, Ctr, DType, Op, ProgramBuilder, laptop, server};
use megakernel_ir::rule::clause;

pub fn bases() -> Vec<Base> {
    let clauses = &[clause::EXE_02, clause::EXE_06][..];
    let mut bases = Vec::new();
    for sms in [2, 3, 4, 7] {
        let summary =
            format!("{sms} SMs with two tasks each; the first of each waits for the second of the SM before");
        bases.push(Base::new(format!("placed/ring-{sms}"), summary, clauses, ring(sms, 0)));
    }
    let summary = "3 SMs with long queues; the first task of each waits for the last of the SM before";
    bases.push(Base::new("placed/long-ring-3", summary, clauses, ring(3, 4)));
    for length in [3, 6] {
        let summary = format!("a chain of {length} tasks listed last first, each on an SM of its own");
        bases.push(Base::new(format!("placed/reversed-{length}"), summary, clauses, reversed(length, true)));
    }
    let summary = "a chain of 4 tasks listed last first, on SMs, without a target";
    bases.push(Base::new("placed/no-target", summary, clauses, reversed(4, false)));
    let mut p = ProgramBuilder::new("wide");
    p.target(laptop());
    let x = p.input("x", DType::F32, &[8]);
    for index in 0..12 {
        let y = p.output(&format!("y{index}"), DType::F32, &[8]);
        p.task(Op::Gelu).reads(&[x]).writes(&[y]).sm(index % 4).label(&format!("t{index}")).add();
    }
    bases.push(Base::new("placed/independent-12", "12 independent tasks on 4 SMs", clauses, p));
    for (name, other, summary) in [
        ("unplaced", Other::OnNoSm, "on no SM"),
        ("placed", Other::OnSm1, "on another SM"),
        ("behind", Other::BehindAWaiter, "on another SM, behind a task that waits for the second"),
    ] {
        let round = format!(
            "2 tasks of a queue, each with one that waits for it; both increment one counter, the second {summary}"
        );
        bases.push(Base::new(format!("placed/round-{name}"), round, clauses, round_trip(other)));
        let queue = format!(
            "a queue whose last task increments a counter together with one that waits for its second and is {summary}"
        );
        bases.push(Base::new(format!("placed/joint-{name}"), queue, clauses, joint(other)));
    }
    for sms in [2, 3] {
        let summary =
            format!("{sms} SMs with two tasks each, of which the second ones increment one counter");
        bases.push(Base::new(format!("placed/together-{sms}"), summary, clauses, together(sms)));
    }
    bases
}

/// Where the producer of a shared counter runs that waits for `second`.
#[derive(Clone, Copy)]
enum Other {
    OnNoSm,
    OnSm1,
    BehindAWaiter,
}

/// `other`, which increments `shared` and comes after the counter `second`, be it by its queue.
fn add_other(p: &mut ProgramBuilder, other: Other, second: Ctr, shared: Ctr) {
    match other {
        Other::OnNoSm => p.task(Op::Nop).after(&[second]).out(shared).label("other").add(),
        Other::OnSm1 => p.task(Op::Nop).after(&[second]).out(shared).sm(1).label("other").add(),
        Other::BehindAWaiter => {
            p.task(Op::Nop).after(&[second]).sm(1).label("waiter").add();
            p.task(Op::Nop).out(shared).sm(1).label("other").add()
        }
    };
}

/// `first` and `second` in the queue of SM 0; `back` comes after `first`, `other` after `second`, and `last` after both.
fn round_trip(other: Other) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("round");
    let shared = p.counter("shared");
    let first = p.task(Op::Nop).sm(0).label("first").add();
    let second = p.task(Op::Nop).sm(0).label("second").add();
    p.task(Op::Nop).after(&[first]).out(shared).sm(2).label("back").add();
    add_other(&mut p, other, second, shared);
    p.task(Op::Nop).after(&[shared]).label("last").add();
    p
}

/// `first`, `second`, `third` and `behind` in the queue of SM 0; `other` comes after `second`, and `last` after `behind` and `other`.
fn joint(other: Other) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("joint");
    let shared = p.counter("shared");
    p.task(Op::Nop).sm(0).label("first").add();
    let second = p.task(Op::Nop).sm(0).label("second").add();
    p.task(Op::Nop).sm(0).label("third").add();
    p.task(Op::Nop).out(shared).sm(0).label("behind").add();
    add_other(&mut p, other, second, shared);
    p.task(Op::Nop).after(&[shared]).label("last").add();
    p
}

/// SM i runs `a{i}` and `b{i}`; `last` comes after all `b{i}`.
fn together(sms: usize) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("together");
    let shared = p.counter("shared");
    for sm in 0..sms {
        p.task(Op::Nop).sm(sm).label(&format!("a{sm}")).add();
        p.task(Op::Nop).out(shared).sm(sm).label(&format!("b{sm}")).add();
    }
    p.task(Op::Nop).after(&[shared]).label("last").add();
    p
}

/// SM i runs `a{i}`, some fillers and `b{i}`; `a{i}` reads what `b{i - 1}` wrote.
fn ring(sms: usize, fillers: usize) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("ring");
    p.target(server());
    let x = p.input("x", DType::F32, &[4]);
    let mut before: Option<(Buf, Ctr)> = None;
    for sm in 0..sms {
        let a = p.output(&format!("a{sm}"), DType::F32, &[4]);
        let b = if sm + 1 == sms {
            p.output("end", DType::F32, &[4])
        } else {
            p.act(&format!("b{sm}"), DType::F32, &[4])
        };
        let (source, after) = before.map_or((x, Vec::new()), |(buffer, done)| (buffer, vec![done]));
        p.task(Op::Copy).reads(&[source]).writes(&[a]).after(&after).sm(sm).label(&format!("a{sm}")).add();
        for filler in 0..fillers {
            p.task(Op::Nop).sm(sm).label(&format!("f{sm}.{filler}")).add();
        }
        let done = p.task(Op::Gelu).reads(&[x]).writes(&[b]).sm(sm).label(&format!("b{sm}")).add();
        before = Some((b, done));
    }
    p
}

/// `t0` is the last of the chain: task i reads what task i + 1 wrote, and runs on SM i.
fn reversed(length: usize, target: bool) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("reversed");
    if target {
        p.target(server());
    }
    let x = p.input("x", DType::F32, &[4]);
    let y = p.output("y", DType::F32, &[4]);
    let links: Vec<Buf> = (1..length).map(|i| p.act(&format!("link{i}"), DType::F32, &[4])).collect();
    let done: Vec<Ctr> = (0..length).map(|i| p.counter(&format!("t{i}"))).collect();
    for index in 0..length {
        let output = if index == 0 { y } else { links[index - 1] };
        let input = links.get(index).copied().unwrap_or(x);
        let after: Vec<Ctr> = done.get(index + 1).copied().into_iter().collect();
        let task = p.task(Op::Copy).reads(&[input]).writes(&[output]).out(done[index]).after(&after);
        task.sm(index).label(&format!("t{index}")).add();
    }
    p
}
