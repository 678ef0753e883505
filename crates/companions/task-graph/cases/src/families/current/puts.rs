//! Exchanges as the current generator makes them: puts that signal, and reductions that wait by tagged ids.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::{Document, Library, Sink, words};
use megakernel_ir::rule::{Rule, clause};
use megakernel_task_graph::NVSHMEM_TAG;
use serde_json::{Value, json};

use super::super::base::{GraphBase, GraphCases, library};
use super::super::graphs::act;
use super::with_type;
use crate::build::{GraphBuilder, NewTask, Tensor, system};

const LINEAR: i64 = 120;
const REDUCE: i64 = 107;
const PUT: i64 = 301;

/// How an exchange is made.
#[derive(Clone, Copy)]
struct Shape {
    ranks: u16,
    blocks: i64,
    /// One event for all blocks of a round.
    merged: bool,
    /// Puts to the own rank as well.
    own: bool,
}

/// The graphs of ranks that exchange a partial result after each of two products.
fn ranks(shape: Shape) -> Vec<GraphBuilder> {
    (0..shape.ranks).map(|rank| of_rank(rank, shape)).collect()
}

fn of_rank(rank: u16, Shape { ranks, blocks, merged, own }: Shape) -> GraphBuilder {
    let mut graph = GraphBuilder::of_rank(rank).extended();
    let width = 4 * blocks;
    let mut input = (act("x", width), None);
    let events = if merged { 1 } else { blocks };
    let puts = blocks / events * i64::from(if own { ranks } else { ranks - 1 });
    for round in ["a", "b"] {
        let (partial, sum) = (act(&format!("partial_{round}"), width), act(&format!("sum_{round}"), width));
        let slots = Tensor::bf16(&format!("slots_{round}"), &[i64::from(ranks), 2, width]);
        let ready: Vec<_> = (0..events).map(|n| graph.event(&format!("ready-{round}{n}"))).collect();
        let put: Vec<_> = (0..events).map(|n| graph.remote_event(&format!("put-{round}{n}"), puts)).collect();
        let event = |of: &[_], n: i64| of[if merged { 0 } else { n as usize }];
        let summed = (round == "a").then(|| graph.event("summed"));
        for n in 0..blocks {
            let w = Tensor::bf16(&format!("w_{round}"), &[width, width]).block(0, n, blocks);
            let mut task = NewTask::new(&format!("linear-{round}{n}"), LINEAR)
                .reads(&[input.0.whole(), w])
                .writes(&[partial.block(1, n, blocks)])
                .triggers(event(&ready, n));
            if let Some(event) = input.1 {
                task = task.after(event);
            }
            graph.add(task);
        }
        let extents = [i64::from(ranks), 2, 4];
        for n in 0..blocks {
            for target in (0..ranks).filter(|target| own || *target != rank) {
                let slot = slots.tile(&[i64::from(rank), 0, 4 * n], &extents);
                let task = NewTask::new(&format!("put-{round}{n}-to-{target}"), PUT)
                    .reads(&[partial.block(1, n, blocks)])
                    .writes(&[slot])
                    .after(event(&ready, n))
                    .triggers_at(target, event(&put, n));
                graph.add(task);
            }
        }
        for n in 0..blocks {
            let mut task = NewTask::new(&format!("reduce-{round}{n}"), REDUCE)
                .reads(&[partial.block(1, n, blocks), slots.tile(&[0, 0, 4 * n], &extents)])
                .writes(&[sum.block(1, n, blocks)])
                .after_signal(event(&put, n));
            if let Some(event) = summed {
                task = task.triggers(event);
            }
            graph.add(task);
        }
        input = (sum, summed);
    }
    graph
}

const TWO: Shape = Shape { ranks: 2, blocks: 1, merged: false, own: true };

/// The systems.
pub fn bases() -> Result<Vec<GraphBase>> {
    let clauses = &[clause::TGR_03, clause::TGR_05];
    let mut out = Vec::new();
    for (name, summary, shape) in [
        ("puts/two", "two ranks that put twice", TWO),
        ("puts/two-by-two", "two ranks that put two blocks twice", Shape { blocks: 2, ..TWO }),
        (
            "puts/merged",
            "two ranks that put two blocks twice, an event for both",
            Shape { blocks: 2, merged: true, ..TWO },
        ),
        ("puts/three", "three ranks that put twice", Shape { ranks: 3, ..TWO }),
    ] {
        out.push(GraphBase::new(name, summary, clauses, system(&ranks(shape), None)?));
    }
    Ok(out)
}

/// TS05, TX02 to TX04, and counts.
pub fn puts(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, task) in [
        ("puts/two", "0:reduce-a0"),
        ("puts/two-by-two", "1:reduce-b1"),
        ("puts/merged", "1:reduce-a1"),
        ("puts/three", "2:reduce-b0"),
    ] {
        let base = library.get(name)?;
        let at = base.at(task, "dependent_event")?;
        let edit = Edit::breaking(
            Rule::TS05,
            format!("`{task}` waits for an event that puts signal by an id without the tag"),
        )
        .at(at.clone())
        .replace(at.clone(), base.int(&at)? & !NVSHMEM_TAG)
        .clause(clause::TGR_03);
        sink.graph_reject(base, &format!("{task} untagged"), &edit)?;
    }
    for (name, task, member) in [
        ("puts/two", "0:put-a0-to-0", "dependent_event"),
        ("puts/two", "1:linear-b0", "dependent_event"),
        ("puts/merged", "0:linear-b1", "dependent_event"),
        ("puts/three", "1:reduce-a0", "trigger_event"),
        ("puts/two-by-two", "0:linear-a0", "trigger_event"),
    ] {
        let base = library.get(name)?;
        let at = base.at(task, member)?;
        let edit = Edit::breaking(
            Rule::TS05,
            format!("the {member} of `{task}` has the tag, and nothing signals it"),
        )
        .at(at.clone())
        .replace(at.clone(), base.int(&at)? | NVSHMEM_TAG)
        .clause(clause::TGR_03);
        sink.graph_reject(base, &format!("{task} {member} tagged"), &edit)?;
    }
    for (name, task) in [("puts/two", "1:put-a0-to-1"), ("puts/three", "0:put-b0-to-0")] {
        let base = library.get(name)?;
        let at = base.at(task, "trigger_event")?;
        let edit = Edit::breaking(
            Rule::TS05,
            format!("`{task}` triggers the event of its own rank by an id without the tag"),
        )
        .at(at.clone())
        .replace(at.clone(), base.int(&at)? & !NVSHMEM_TAG)
        .clause(clause::TGR_03);
        sink.graph_reject(base, &format!("{task} untagged"), &edit)?;
    }
    for (name, task, rank) in [("puts/two", "0:reduce-b0", 1), ("puts/three", "2:reduce-a0", 0)] {
        let base = library.get(name)?;
        let at = base.at(task, "dependent_event")?;
        let id = base.int(&at)? & !(0xffff << 32) | rank << 32;
        let edit = Edit::breaking(Rule::TS05, format!("`{task}` waits for an event of rank {rank}"))
            .at(at.clone())
            .replace(at, id)
            .clause(clause::TGR_03);
        sink.graph_reject(base, &format!("{task} waits for rank {rank}"), &edit)?;
    }
    counts(sink)?;
    buffers(sink)?;
    alone(sink)
}

fn counts(sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, event, count, rule) in [
        ("puts/two", "1:put-a0", 1, Rule::TR01),
        ("puts/merged", "0:put-b0", 2, Rule::TR01),
        ("puts/two", "0:put-b0", 3, Rule::TD02),
        ("puts/merged", "1:put-a0", 5, Rule::TD02),
        ("puts/three", "2:put-a0", 4, Rule::TD02),
    ] {
        let base = library.get(name)?;
        let at = base.at(event, "num_triggers")?;
        let edit = Edit::breaking(rule, format!("an event takes {count} of {} signals", base.int(&at)?))
            .at(at.clone())
            .replace(at, count);
        sink.graph_reject(base, &format!("{event} takes {count}"), &edit)?;
    }
    // The counts are right, and the signals are those of other blocks.
    for (task, event, waits, reduce) in [
        ("1:put-a1-to-0", "0:put-a0", "0:put-a1", "0:reduce-a1"),
        ("0:put-b0-to-1", "1:put-b1", "1:put-b0", "1:reduce-b0"),
        ("0:put-a0-to-1", "1:put-a1", "1:put-a0", "1:reduce-a0"),
    ] {
        let base = library.get("puts/two-by-two")?;
        let at = base.at(task, "trigger_event")?;
        let id = (base.int(&at)? & !0xffff_ffff) | base.index(event)?;
        let (more, less) = (base.at(event, "num_triggers")?, base.at(waits, "num_triggers")?);
        let edit =
            Edit::breaking(Rule::TX02, "a put signals the event of the other block: two come from one rank")
                .at(base.at(event, "")?)
                .replace(at, id)
                .replace(more.clone(), base.int(&more)? + 1)
                .replace(less.clone(), base.int(&less)? - 1)
                .replace(base.at(reduce, "inputs/1/base_ptr")?, "elsewhere");
        sink.graph_reject(base, task, &edit)?;
    }
    Ok(())
}

fn buffers(sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, count, blocks) in
        [("puts/two", 2, 1), ("puts/two-by-two", 2, 2), ("puts/merged", 2, 2), ("puts/three", 3, 1)]
    {
        let base = library.get(name)?;
        let mut edit = Edit::breaking(Rule::TX03, "one buffer takes the slots of both rounds");
        for rank in 0..count {
            for n in 0..blocks {
                for target in 0..count {
                    edit = edit.replace(
                        base.at(&format!("{rank}:put-b{n}-to-{target}"), "outputs/0/base_ptr")?,
                        "slots_a",
                    );
                }
                edit = edit.replace(base.at(&format!("{rank}:reduce-b{n}"), "inputs/1/base_ptr")?, "slots_a");
            }
        }
        let edit = edit.at(base.at("1:put-b0-to-0", "outputs/0")?);
        sink.graph_reject(base, "one buffer", &edit)?;
        let last = count - 1;
        let edit =
            Edit::breaking(Rule::TX04, "the slots of the first round are read once more in the second")
                .at(base.at(&format!("0:put-a0-to-{last}"), "outputs/0")?)
                .replace(base.at(&format!("{last}:reduce-b0"), "inputs/1/base_ptr")?, "slots_a");
        sink.graph_reject(base, "slots-a read again", &edit)?;
        let at = base.at(&format!("0:put-a0-to-{last}"), "outputs/0/offset")?;
        let slot = base.int(&base.at(&format!("{last}:put-a0-to-{last}"), "outputs/0/offset")?)?;
        let edit = Edit::breaking(Rule::TX03, "a rank puts into the slot of its peer").replace(at, slot);
        sink.graph_reject(base, "slot of the peer", &edit)?;
        // The put of the earlier generator has no place among these: its event is not signalled.
        let edit = Edit::breaking(Rule::TX02, "one of the puts is a copy, as the earlier generator has it")
            .at(base.at(&format!("{last}:put-a0"), "")?);
        let edit = with_type(edit, base, &format!("0:put-a0-to-{last}"), 199)?.clause(clause::TGR_03);
        sink.graph_reject(base, "one copy", &edit)?;
    }
    Ok(())
}

/// As the generator makes it, without a put to the own rank; and ranks by themselves.
fn alone(sink: &mut Sink) -> Result<()> {
    let text =
        |shape: Shape| -> Result<String> { Ok(crate::build::text(&system(&ranks(shape), None)?.value)) };
    for (name, shape) in
        [("two", TWO), ("two-by-two", Shape { blocks: 2, ..TWO }), ("three", Shape { ranks: 3, ..TWO })]
    {
        let (right, wrong) = (format!("{name} own put"), format!("{name} no own put"));
        let accepted = text(shape)?;
        let clauses = &[clause::TGR_03, clause::TGR_05];
        let expect = json!({"verdict": "accept", "warnings": []});
        sink.graph_text(
            "validate",
            &words(&right),
            "every rank puts to itself too",
            clauses,
            &Document::Text(&accepted),
            expect,
            None,
        )?;
        let rejected = text(Shape { own: false, ..shape })?;
        let expect = json!({"verdict": "reject", "rules": ["TR02"]});
        let clauses = &[*Rule::TR02.clause()];
        let what = "no rank puts to itself, so nothing orders a partial sum before its own reduction";
        sink.graph_text(
            "validate",
            &words(&wrong),
            what,
            clauses,
            &Document::Text(&rejected),
            expect,
            Some(&words(&right)),
        )?;
    }
    let one = of_rank(0, Shape { ranks: 1, ..TWO }).finish()?.value.to_string();
    let expect = json!({"verdict": "accept", "warnings": []});
    let what = "one rank that puts to itself alone";
    sink.graph_text("validate", "one-rank", what, &[clause::TGR_01], &Document::Text(&one), expect, None)?;
    for (name, rank) in [("puts/two", 0), ("puts/merged", 1)] {
        let library = library()?;
        let base = library.get(name)?;
        let graph: &Value = base.value(&format!("/ranks/{rank}"))?;
        let expect = json!({"verdict": "accept", "warnings": ["TW04"]});
        let clauses = &[*Rule::TW04.clause(), clause::TGR_01];
        let right = words(&format!("{name} rank {rank} alone"));
        let sent = graph.to_string();
        sink.graph_text(
            "validate",
            &right,
            "the graph of one rank without its peer",
            clauses,
            &Document::Text(&sent),
            expect,
            Some("one-rank"),
        )?;
        let mut untagged = graph.clone();
        let reduce = base.at(&format!("{rank}:reduce-a0"), "")?;
        let index = reduce.rsplit('/').next().and_then(|index| index.parse::<usize>().ok()).unwrap_or(0);
        let at = format!("/all_tasks/{index}/dependent_event");
        if let Some(id) = untagged.pointer_mut(&at) {
            *id = json!(id.as_i64().unwrap_or(0) & !NVSHMEM_TAG);
        }
        let expect = json!({"verdict": "reject", "rules": ["TS05"], "at": at});
        let (sent, clauses) = (untagged.to_string(), &[*Rule::TS05.clause(), clause::TGR_03]);
        let what = "the graph of one rank, in which a reduction waits by an id without the tag";
        sink.graph_text(
            "validate",
            &words(&format!("{name} rank {rank} untagged")),
            what,
            clauses,
            &Document::Text(&sent),
            expect,
            Some("one-rank"),
        )?;
    }
    Ok(())
}
