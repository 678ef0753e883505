//! Random programs that are free of races by construction: tasks come in layers, every task of a layer waits for all
//! tasks of the layer before, and no buffer is written twice except in disjoint tiles.

use super::Base;
use crate::builder::{Buf, Ctr, DType, Op, ProgramBuilder, Weights, laptop};
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::rule::clause;

/// How many programs.
pub const COUNT: usize = 64;

/// The accepted programs of a corpus seed.
pub fn bases(corpus_seed: u64) -> Vec<Base> {
    (0..COUNT)
        .map(|index| {
            let name = format!("random/layers-{index:02}");
            let (p, layers) = layered(&mut SplitMix64::for_family(&format!("accept/{name}"), corpus_seed));
            let summary = format!("a random program of {layers} layers and {} tasks", p.task_count());
            Base::new(name, summary, &[clause::EXE_05, clause::EXE_07], p)
        })
        .collect()
}

/// Tasks are labelled `l{layer}.{index}`; tasks of a tiled product `l{layer}.{index}[t{tile}]`.
fn layered(prng: &mut SplitMix64) -> (ProgramBuilder, usize) {
    let mut p = ProgramBuilder::new("random");
    let width = prng.between(2, 12) as u64 * 2;
    let dtype = *prng.pick(&[DType::F32, DType::F16, DType::BF16]).unwrap_or(&DType::F32);
    let x = p.input("x", dtype, &[1, width]);
    let layers = prng.between(2, 9);
    let mut readable = vec![x];
    let mut unread: Vec<Buf> = Vec::new();
    let mut before: Vec<Ctr> = Vec::new();
    for layer in 0..layers {
        let done = p.counter(&format!("layer {layer}"));
        let mut fresh = Vec::new();
        for index in 0..prng.between(1, 6) {
            let name = format!("l{layer}.{index}");
            let y = p.act(&name, dtype, &[1, width]);
            let (a, b) = (choose(prng, &readable), choose(prng, &readable));
            unread.retain(|buffer| *buffer != a);
            let kind = prng.below(5);
            if kind == 0 {
                tiles(&mut p, prng, &name, (a, y), width, done, &before);
            } else {
                let (op, inputs): (Op, &[Buf]) = match kind {
                    1 => (Op::Softmax, &[a]),
                    2 => (Op::Gelu, &[a]),
                    3 => (Op::Copy, &[a]),
                    _ => (Op::Add, &[a, b]),
                };
                p.task(op).reads(inputs).writes(&[y]).out(done).after(&before).label(&name).add();
            }
            fresh.push(y);
        }
        unread.extend(&fresh);
        readable.extend(fresh);
        before = vec![done];
    }
    for (index, buffer) in unread.into_iter().enumerate() {
        let y = p.output(&format!("y{index}"), dtype, &[1, width]);
        p.task(Op::Copy).reads(&[buffer]).writes(&[y]).after(&before).label(&format!("y{index}")).add();
    }
    if prng.below(3) == 0 {
        p.target(laptop());
        let sms: Vec<usize> = (0..p.task_count()).map(|_| prng.below(5) as usize).collect();
        // The fifth choice leaves a task unassigned.
        p.assign(|task| sms.get(task).copied().filter(|sm| *sm < 4));
    }
    (p, layers)
}

/// Later buffers are more likely, so that programs are deep.
fn choose(prng: &mut SplitMix64, buffers: &[Buf]) -> Buf {
    let recent = buffers.len().min(6);
    let index = buffers.len() - 1 - prng.below(recent as u64) as usize;
    buffers[index]
}

fn tiles(
    p: &mut ProgramBuilder,
    prng: &mut SplitMix64,
    name: &str,
    (x, y): (Buf, Buf),
    n: u64,
    out: Ctr,
    after: &[Ctr],
) {
    let matrix = p.matrix(&format!("{name}.w"), n, n, Weights::Float(DType::F16));
    let mut start = 0;
    let mut index = 0;
    while start < n {
        let size = (prng.between(1, n as usize) as u64).min(n - start);
        let inputs: Vec<Buf> = [x].iter().chain(&matrix.operands).copied().collect();
        let task = p.task(Op::GemvTile).reads(&inputs).writes(&[y]).out(out).after(after);
        let task = task.param("K", n).param("N_tile", size).param("n_off", start);
        task.label(&format!("{name}[t{index}]")).add();
        start += size;
        index += 1;
    }
}
