//! Collectives in which all ranks meet: NVSHMEM_TILE_ALLREDUCE.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::{Document, Library, Sink, words};
use megakernel_ir::rule::{Rule, clause};
use serde_json::json;

use super::super::base::{GraphBase, GraphCases, library};
use super::super::graphs::act;
use super::{with_type, with_word};
use crate::build::{GraphBuilder, NewTask, Tensor, system};

const LINEAR: i64 = 155;
const IDENTITY: i64 = 121;
/// Meets its mates of all ranks and sums up their tiles.
pub const ALL_REDUCE: i64 = 302;

/// The graphs of ranks that sum up a partial result after each of two products.
pub fn ranks(ranks: u16, blocks: i64) -> Vec<GraphBuilder> {
    (0..ranks).map(|rank| of_rank(rank, blocks)).collect()
}

fn of_rank(rank: u16, blocks: i64) -> GraphBuilder {
    let mut graph = GraphBuilder::of_rank(rank).extended();
    let width = 4 * blocks;
    let mut input = (act("x", width), None);
    for round in ["a", "b"] {
        let (partial, sum) = (act(&format!("partial_{round}"), width), act(&format!("sum_{round}"), width));
        let ready: Vec<_> = (0..blocks).map(|n| graph.event(&format!("ready-{round}{n}"))).collect();
        let summed = (round == "a").then(|| graph.event("summed"));
        for (n, &event) in (0..).zip(&ready) {
            let w = Tensor::bf16(&format!("w_{round}"), &[width, width]).block(0, n, blocks);
            let mut task = NewTask::new(&format!("linear-{round}{n}"), LINEAR)
                .reads(&[input.0.whole(), w])
                .writes(&[partial.block(1, n, blocks)])
                .triggers(event);
            if let Some(event) = input.1 {
                task = task.after(event);
            }
            graph.add(task);
        }
        for (n, &event) in (0..).zip(&ready) {
            let mut task = NewTask::new(&format!("all-{round}{n}"), ALL_REDUCE)
                .reads(&[partial.block(1, n, blocks)])
                .writes(&[sum.block(1, n, blocks)])
                .after(event)
                .word(n, -1);
            if let Some(event) = summed {
                task = task.triggers(event);
            }
            graph.add(task);
        }
        input = (sum, summed);
    }
    graph
}

/// The systems.
pub fn bases() -> Result<Vec<GraphBase>> {
    let clauses = &[clause::TGR_23, clause::TGR_05];
    let mut out = Vec::new();
    for (name, summary, count, blocks) in [
        ("reduce/one", "one rank that meets nobody", 1, 2),
        ("reduce/two", "two ranks that meet twice", 2, 1),
        ("reduce/two-by-two", "two ranks that meet twice, for two blocks", 2, 2),
        ("reduce/three", "three ranks that meet twice, for two blocks", 3, 2),
        ("reduce/four", "four ranks that meet twice", 4, 1),
    ] {
        out.push(GraphBase::new(name, summary, clauses, system(&ranks(count, blocks), None)?));
    }
    Ok(out)
}

/// TX03 to TX06.
pub fn collectives(_: &Library, sink: &mut Sink) -> Result<()> {
    mismatched(sink)?;
    reused(sink)?;
    let library = library()?;
    // TX06: one team for two blocks, on every rank.
    for (name, count, round, team) in [
        ("reduce/two-by-two", 2, "a", 0),
        ("reduce/two-by-two", 2, "b", 0),
        ("reduce/three", 3, "b", 0),
        ("reduce/three", 3, "a", 0),
    ] {
        let base = library.get(name)?;
        let later = format!("all-{round}1");
        let what =
            format!("both blocks of round {round} are of team {team}, and neither waits for the other");
        let mut edit = Edit::breaking(Rule::TX06, what).at(base.at(&format!("1:{later}"), "")?);
        for rank in 0..count {
            edit = with_word(edit, base, &format!("{rank}:{later}"), [team, -1])?;
        }
        sink.graph_reject(base, &format!("one team in round {round}"), &edit.clause(clause::TGR_23))?;
    }
    // Teams have no order and no meaning but who meets.
    for (name, count, blocks, teams) in [
        ("reduce/two", 2, 1, [5, 0]),
        ("reduce/two-by-two", 2, 2, [1, 0]),
        ("reduce/three", 3, 2, [70_000, 2]),
        ("reduce/four", 4, 1, [9, 1]),
    ] {
        let base = library.get(name)?;
        let mut edit = Edit::harmless("the teams have other numbers").clause(clause::TGR_23);
        for rank in 0..count {
            for n in 0..blocks {
                edit = with_word(edit, base, &format!("{rank}:all-b{n}"), [teams[n as usize], -1])?;
            }
        }
        sink.graph_accept(base, "other teams", &edit)?;
    }
    // A rank by itself.
    for name in ["reduce/two", "reduce/three"] {
        let base = library.get(name)?;
        let graph = base.value("/ranks/0")?.to_string();
        let mut local = base.value("/ranks/0")?.clone();
        for task in local["all_tasks"].as_array_mut().into_iter().flatten() {
            if task["task_type"] == ALL_REDUCE {
                task["task_type"] = json!(IDENTITY);
            }
        }
        let twin = words(&format!("{} local", base.name));
        let sent = local.to_string();
        let expect = json!({"verdict": "accept", "warnings": []});
        let what = "the graph of rank 0 with local tasks in place of collectives";
        sink.graph_text("validate", &twin, what, &[clause::TGR_01], &Document::Text(&sent), expect, None)?;
        let expect = json!({"verdict": "accept", "warnings": ["TW04"]});
        let id = format!("{} alone", base.name);
        let clauses = &[*Rule::TW04.clause(), clause::TGR_23, clause::TGR_01];
        let sent = Document::Text(&graph);
        let name = words(&id);
        sink.graph_text(
            "validate",
            &name,
            "the graph of rank 0 without its peers",
            clauses,
            &sent,
            expect,
            Some(&twin),
        )?;
    }
    Ok(())
}

/// TX05.
fn mismatched(sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, rank, task, at) in [
        ("reduce/two", 0, "all-b0", "1:all-b0"),
        ("reduce/two", 1, "all-a0", "0:all-b0"),
        ("reduce/two-by-two", 1, "all-b1", "0:all-b1"),
        ("reduce/two-by-two", 0, "all-b0", "1:all-b0"),
        ("reduce/three", 2, "all-b0", "0:all-b0"),
        ("reduce/four", 3, "all-b0", "1:all-b0"),
    ] {
        let base = library.get(name)?;
        let what = format!("on rank {rank}, `{task}` is a local task, and its mates wait for it");
        let edit = Edit::breaking(Rule::TX05, what).at(base.at(at, "")?);
        let edit = with_type(edit, base, &format!("{rank}:{task}"), IDENTITY)?.clause(clause::TGR_23);
        sink.graph_reject(base, &format!("{rank} without {task}"), &edit)?;
    }
    for (name, rank, task, team, at) in [
        ("reduce/two", 0, "all-b0", 1, "0:all-b0"),
        ("reduce/two-by-two", 1, "all-b1", 0, "0:all-b1"),
        ("reduce/two-by-two", 0, "all-b0", 2, "1:all-b0"),
        ("reduce/three", 1, "all-b1", -1, "2:all-b1"),
        ("reduce/four", 2, "all-b0", 3, "0:all-b0"),
    ] {
        let base = library.get(name)?;
        let what = format!("on rank {rank}, `{task}` is of team {team}");
        let edit = Edit::breaking(Rule::TX05, what).at(base.at(at, "")?).clause(clause::TGR_23);
        let edit = with_word(edit, base, &format!("{rank}:{task}"), [team, -1])?;
        sink.graph_reject(base, &format!("{rank} {task} in team {team}"), &edit)?;
    }
    for (name, task, member, value, what) in [
        ("reduce/two", "1:all-a0", "base_ptr", json!("partial_b"), "another tensor"),
        ("reduce/two-by-two", "1:all-a1", "offset", json!(0), "another place"),
        ("reduce/two-by-two", "1:all-b0", "dims", json!([1, 4]), "one row of two"),
        ("reduce/three", "2:all-a0", "dims", json!([2, 2]), "half of the columns"),
        ("reduce/three", "1:all-b1", "base_ptr", json!("sum_a"), "another tensor"),
        ("reduce/four", "3:all-a0", "data_type", json!(940), "another element type"),
    ] {
        let base = library.get(name)?;
        let what = format!("`{task}` sums up {what} than its mates");
        let edit = Edit::breaking(Rule::TX05, what)
            .at(base.at(task, "")?)
            .replace(base.at(task, &format!("inputs/0/{member}"))?, value)
            .clause(clause::TGR_23);
        sink.graph_reject(base, &format!("{task} other {member}"), &edit)?;
    }
    // Who sums up nothing meets those alone that sum up nothing either.
    for (name, without, at) in [
        ("reduce/two", "1:all-a0", "1:all-a0"),
        ("reduce/two", "0:all-b0", "1:all-b0"),
        ("reduce/three", "1:all-b1", "1:all-b1"),
    ] {
        let base = library.get(name)?;
        let edit = Edit::breaking(Rule::TX05, format!("`{without}` has no inputs, and its mates have one"))
            .at(base.at(at, "")?)
            .replace(base.at(without, "inputs")?, json!(null))
            .clause(clause::TGR_23);
        sink.graph_reject(base, &format!("{without} without inputs"), &edit)?;
    }
    let base = library.get("reduce/two")?;
    let edit = Edit::harmless("two mates have no inputs")
        .replace(base.at("0:all-a0", "inputs")?, json!(null))
        .replace(base.at("1:all-a0", "inputs")?, json!(null))
        .clause(clause::TGR_23);
    sink.graph_accept(base, "all-a0 without inputs", &edit)?;
    // The two of one team in the other order.
    for (name, rank, n) in [("reduce/two", 1, 0), ("reduce/two-by-two", 0, 1), ("reduce/three", 2, 0)] {
        let base = library.get(name)?;
        let (a, b) = (format!("{rank}:all-a{n}"), format!("{rank}:all-b{n}"));
        let swapped = if rank == 0 { format!("1:all-a{n}") } else { a.clone() };
        let edit = Edit::breaking(Rule::TX05, format!("rank {rank} sums up its second product first"))
            .at(base.at(&swapped, "")?)
            .replace(base.at(&a, "inputs/0")?, base.value(&base.at(&b, "inputs/0")?)?.clone())
            .replace(base.at(&b, "inputs/0")?, base.value(&base.at(&a, "inputs/0")?)?.clone())
            .clause(clause::TGR_23);
        sink.graph_reject(base, &format!("{rank} in the other order {n}"), &edit)?;
    }
    Ok(())
}

/// TX03 and TX04: operands that are written while a mate still reads them.
fn reused(sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let shapes =
        [("reduce/two", 2, 1), ("reduce/two-by-two", 2, 2), ("reduce/three", 3, 2), ("reduce/four", 4, 1)];
    for (name, count, blocks) in shapes {
        let base = library.get(name)?;
        let mut edit = Edit::breaking(Rule::TX03, "both rounds use one buffer").clause(clause::TGR_23);
        for rank in 0..count {
            for n in 0..blocks {
                edit = edit
                    .replace(base.at(&format!("{rank}:linear-b{n}"), "outputs/0/base_ptr")?, "partial_a")
                    .replace(base.at(&format!("{rank}:all-b{n}"), "inputs/0/base_ptr")?, "partial_a");
            }
        }
        let edit = edit.at(base.at("1:all-a0", "inputs/0")?);
        sink.graph_reject(base, "one buffer", &edit)?;

        let mut edit = Edit::breaking(Rule::TX04, "there is one round of meetings an iteration");
        for rank in 0..count {
            for n in 0..blocks {
                edit = with_type(edit, base, &format!("{rank}:all-b{n}"), IDENTITY)?;
            }
        }
        let edit = edit.at(base.at("0:all-a0", "inputs/0")?).clause(clause::TGR_23);
        sink.graph_reject(base, "one round", &edit)?;

        // What comes after the second meeting comes after everybody's first.
        let last = count - 1;
        let what = "a task of the second round leaves its sum in the buffer of the first";
        let edit = Edit::harmless(what)
            .replace(base.at(&format!("{last}:all-b0"), "outputs/0/base_ptr")?, "partial_a")
            .clause(clause::TGR_23);
        sink.graph_accept(base, "sum in the first buffer", &edit)?;
        let added = base.value(&base.at("0:all-a0", "inputs/0")?)?.clone();
        let edit = Edit::harmless("a product of the second round reads the operand of the first")
            .insert(base.at("0:linear-b0", "inputs/-")?, added.clone());
        sink.graph_accept(base, "first buffer read again", &edit.clause(clause::TGR_23))?;
        let edit =
            Edit::breaking(Rule::TX03, "a product of the second round overwrites the operand of the first")
                .at(base.at(&format!("{last}:all-a0"), "inputs/0")?)
                .insert(base.at("0:linear-b0", "outputs/-")?, added);
        sink.graph_reject(base, "first buffer overwritten", &edit.clause(clause::TGR_23))?;
        let edit =
            Edit::breaking(Rule::TX03, "a task leaves its sum in its operand, which its mates still read")
                .at(base.at("0:all-a0", "inputs/0")?)
                .replace(base.at(&format!("{last}:all-a0"), "outputs/0/base_ptr")?, "partial_a");
        sink.graph_reject(base, "in place", &edit.clause(clause::TGR_23))?;
    }
    let base = library.get("reduce/two-by-two")?;
    let edit = Edit::breaking(Rule::TR04, "two collectives leave their sums in one place")
        .at(base.at("1:all-a1", "outputs/0")?)
        .replace(base.at("1:all-a1", "outputs/0/offset")?, 0);
    sink.graph_reject(base, "one sum", &edit)?;
    Ok(())
}
