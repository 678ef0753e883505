//! The accepted systems: the graphs of several ranks together.

use megakernel_corpus::builder::Result;
use megakernel_ir::rule::{Rule, clause};

use super::base::GraphBase;
use super::graphs::{act, row};
use super::kernels;
use crate::build::{GraphBuilder, NewTask, Tensor, system};

const LINEAR: i64 = 108;
const REDUCE: i64 = 107;
const COPY: i64 = 199;

/// The graphs of a layer that is cut over ranks: a partial sum, an all-reduce, the next partial sum, another all-reduce.
fn parallel(ranks: u16, blocks: i64) -> Vec<GraphBuilder> {
    (0..ranks).map(|rank| parallel_of(rank, ranks, blocks)).collect()
}

fn parallel_of(rank: u16, ranks: u16, blocks: i64) -> GraphBuilder {
    let mut graph = GraphBuilder::of_rank(rank);
    let width = 4 * blocks;
    let mut input = (act("x", width), None);
    for round in ["a", "b"] {
        let partial = act(&format!("partial_{round}"), width);
        let slots = Tensor::bf16(&format!("slots_{round}"), &[i64::from(ranks), 2, width]);
        let sum = act(&format!("sum_{round}"), width);
        let ready: Vec<_> = (0..blocks).map(|n| graph.event(&format!("ready-{round}{n}"))).collect();
        let copied: Vec<_> = (0..blocks)
            .map(|n| graph.remote_event(&format!("copied-{round}{n}"), i64::from(ranks)))
            .collect();
        let summed = (round == "a").then(|| graph.event("summed"));
        for (n, &event) in (0..).zip(&ready) {
            let mut task = NewTask::new(&format!("linear-{round}{n}"), LINEAR)
                .reads(&[
                    input.0.whole(),
                    Tensor::bf16(&format!("w_{round}"), &[width, width]).block(0, n, blocks),
                ])
                .writes(&[partial.block(1, n, blocks)])
                .triggers(event);
            if let Some(event) = input.1 {
                task = task.after(event);
            }
            graph.add(task);
        }
        let extents = [i64::from(ranks), 2, 4];
        for n in 0..blocks {
            for target in 0..ranks {
                // The slot of the own rank, with the extents of the whole, as the generator writes it.
                let slot = slots.tile(&[i64::from(rank), 0, 4 * n], &extents);
                let task = NewTask::new(&format!("copy-{round}{n}-to-{target}"), COPY)
                    .reads(&[partial.block(1, n, blocks)])
                    .writes(&[slot])
                    .after(ready[n as usize])
                    .triggers_at(target, copied[n as usize]);
                graph.add(task);
            }
        }
        for (n, &event) in (0..).zip(&copied) {
            let mut task = NewTask::new(&format!("reduce-{round}{n}"), REDUCE)
                .reads(&[partial.block(1, n, blocks), slots.tile(&[0, 0, 4 * n], &extents)])
                .writes(&[sum.block(1, n, blocks)])
                .after(event);
            if let Some(event) = summed {
                task = task.triggers(event);
            }
            graph.add(task);
        }
        input = (sum, summed);
    }
    graph
}

/// Two exchanges between two ranks, one after the other if the rank is 1, and a third one that needs both.
fn exchanges(rank: u16, order: [&str; 2]) -> GraphBuilder {
    let mut graph = GraphBuilder::of_rank(rank);
    let copied = ["x", "y", "z"].map(|name| (name, graph.remote_event(&format!("copied-{name}"), 2)));
    let both = graph.event("both");
    let event =
        |name: &str| copied.iter().find(|(other, _)| *other == name).map_or(both, |(_, event)| *event);
    let slots = |name: &str| Tensor::bf16(&format!("slots_{name}"), &[2, 2, 4]);
    let copies = |graph: &mut GraphBuilder, name: &str, from: &Tensor, after: bool| {
        for target in 0..2 {
            let mut task = NewTask::new(&format!("copy-{name}-to-{target}"), COPY)
                .reads(&[from.whole()])
                .writes(&[slots(name).tile(&[i64::from(rank), 0, 0], &[2, 2, 4])])
                .triggers_at(target, event(name));
            if after {
                task = task.after(both);
            }
            graph.add(task);
        }
    };
    let reduce = |name: &str, from: &Tensor| {
        NewTask::new(&format!("reduce-{name}"), REDUCE)
            .reads(&[from.whole(), slots(name).whole()])
            .writes(&[act(&format!("sum_{name}"), 4).whole()])
            .after(event(name))
    };
    let part = |name: &str| act(&format!("part_{name}"), 4);
    if rank == 0 {
        order.iter().for_each(|name| copies(&mut graph, name, &part(name), false));
        order.iter().for_each(|name| graph.add(reduce(name, &part(name)).triggers(both)));
    } else {
        for name in order {
            copies(&mut graph, name, &part(name), false);
            graph.add(reduce(name, &part(name)).triggers(both));
        }
    }
    let sum = act("sum_x", 4);
    copies(&mut graph, "z", &sum, true);
    graph.add(reduce("z", &sum));
    graph
}

/// Every accepted system, and the bare graphs that copy.
pub fn all() -> Result<Vec<GraphBase>> {
    let mut out = Vec::new();
    let clauses = &[clause::TGR_01, clause::TGR_03, clause::TGR_05];
    for (name, summary, ranks, blocks) in [
        ("ranks/two", "two ranks and two all-reduces", 2, 1),
        ("ranks/two-by-two", "two ranks and two all-reduces of two blocks", 2, 2),
        ("ranks/three", "three ranks and two all-reduces", 3, 1),
        ("ranks/four", "four ranks and two all-reduces of two blocks", 4, 2),
    ] {
        out.push(GraphBase::new(name, summary, clauses, system(&parallel(ranks, blocks), None)?));
    }
    let mut chain = GraphBuilder::new();
    row(&mut chain, 2);
    out.push(GraphBase::new("ranks/one", "a system of one rank", clauses, system(&[chain.clone()], None)?));
    let mut other = GraphBuilder::of_rank(1).extended();
    row(&mut other, 3);
    let document = system(&[chain, other], None)?;
    out.push(GraphBase::new(
        "ranks/apart",
        "two ranks that have nothing to do with each other",
        clauses,
        document,
    ));

    out.push(GraphBase::new(
        "ranks/exchanges",
        "two exchanges in either order on two ranks, and a third after both",
        clauses,
        system(&[exchanges(0, ["x", "y"]), exchanges(1, ["y", "x"])], None)?,
    ));

    // Copies to the own rank alone: nothing of other ranks is missing.
    for (name, summary, blocks) in [
        ("bare/copies", "a bare graph whose copies all go to its own rank", 1),
        ("bare/many-copies", "a bare graph with four copies, all to its own rank", 4),
    ] {
        let mut graph = GraphBuilder::new();
        let (partial, sum) = (act("partial", 4 * blocks), act("sum", 4 * blocks));
        let slots = Tensor::bf16("slots", &[1, 2, 4 * blocks]);
        for n in 0..blocks {
            let (ready, copied) =
                (graph.event(&format!("ready{n}")), graph.remote_event(&format!("copied{n}"), 1));
            let block = |tensor: &Tensor| tensor.block(1, n, blocks);
            let slot = slots.block(2, n, blocks);
            graph.add(
                NewTask::new(&format!("linear{n}"), LINEAR)
                    .reads(&[act("x", 8).whole()])
                    .writes(&[block(&partial)])
                    .triggers(ready),
            );
            graph.add(
                NewTask::new(&format!("copy{n}"), COPY)
                    .reads(&[block(&partial)])
                    .writes(std::slice::from_ref(&slot))
                    .after(ready)
                    .triggers_at(0, copied),
            );
            graph.add(
                NewTask::new(&format!("reduce{n}"), REDUCE)
                    .reads(&[block(&partial), slot])
                    .writes(&[block(&sum)])
                    .after(copied),
            );
        }
        out.push(GraphBase::new(name, summary, clauses, graph.finish()?));
    }

    out.push(GraphBase::new(
        "declared/chain",
        "a system of one rank with the kernel graph that declares its tensors",
        &[clause::TGR_01, *Rule::TB03.clause()],
        kernels::declared_chain()?,
    ));
    out.push(GraphBase::new(
        "declared/two-ranks",
        "two ranks and two all-reduces, with the kernel graph that declares their tensors",
        &[clause::TGR_01, clause::TGR_05, *Rule::TB01.clause()],
        system(&parallel(2, 1), Some(kernels::declared_ranks()))?,
    ));
    Ok(out)
}
