//! Sums in parts: tasks that add to one tile, the start value, and who reads the sum.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::json;

use super::super::base::{GraphBase, GraphCases, library};
use super::super::graphs::act;
use super::with_type;
use crate::build::{GraphBuilder, NewTask};

const INIT: i64 = 262;
const ADD: i64 = 251;
const ADD_HOPPER: i64 = 163;
const LINEAR: i64 = 253;
const TOP_K: i64 = 260;
const IDENTITY: i64 = 121;

/// A sum that is set to 0 before, one that is set to 0 when it has been read, and one that begins with a residual.
pub fn bases() -> Result<Vec<GraphBase>> {
    let clauses = &[clause::TGR_05, clause::TGR_09];
    let mut out = Vec::new();
    let parts = |graph: &mut GraphBuilder, code: i64, count: i64, after: Option<_>, to| {
        for n in 0..count {
            let x = act("x", 4 * count).block(1, n, count);
            let w = act("gate", 4 * count).block(1, n, count);
            let mut task = NewTask::new(&format!("add{n}"), code)
                .reads(&[x, w])
                .writes(&[act("sum", 8).whole()])
                .triggers(to);
            if let Some(event) = after {
                task = task.after(event);
            }
            graph.add(task);
        }
    };
    for (name, summary, code, count) in [
        ("sums/set-before", "four tasks add to a tile that is set to 0 before", ADD, 4),
        ("sums/set-before-hopper", "two tasks add to a tile that is set to 0 before", ADD_HOPPER, 2),
    ] {
        let mut graph = GraphBuilder::new().extended();
        let (set, summed) = (graph.event("set"), graph.event("summed"));
        let init = NewTask::new("init", INIT)
            .reads(&[act("sum", 8).whole(), act("before", 8).whole()])
            .writes(&[act("dummy", 8).whole()]);
        graph.add(init.triggers(set));
        parts(&mut graph, code, count, Some(set), summed);
        for n in 0..2 {
            let task = NewTask::new(&format!("reader{n}"), IDENTITY)
                .reads(&[act("sum", 8).block(1, n, 2)])
                .writes(&[act("y", 8).block(1, n, 2)])
                .after(summed);
            graph.add(task);
        }
        out.push(GraphBase::new(name, summary, clauses, graph.finish()?));
    }
    let mut graph = GraphBuilder::new().extended();
    let summed = graph.event("summed");
    parts(&mut graph, ADD, 4, None, summed);
    let outputs = ["moe_topk_weight", "moe_routing_indices", "moe_mask"].map(|name| act(name, 8).whole());
    graph.add(NewTask::new("top-k", TOP_K).reads(&[act("sum", 8).whole()]).writes(&outputs).after(summed));
    let summary = "four tasks add to the logits of a router, which sets them to 0 when it has read them";
    out.push(GraphBase::new("sums/set-after", summary, clauses, graph.finish()?));

    let mut graph = GraphBuilder::new().extended();
    let (copied, summed) = (graph.event("copied"), graph.event("summed"));
    for n in 0..2 {
        let task = NewTask::new(&format!("copy{n}"), IDENTITY)
            .reads(&[act("residual", 8).block(1, n, 2)])
            .writes(&[act("sum", 8).block(1, n, 2)])
            .triggers(copied);
        graph.add(task);
    }
    parts(&mut graph, ADD, 3, Some(copied), summed);
    graph.add(
        NewTask::new("reader", IDENTITY)
            .reads(&[act("sum", 8).whole()])
            .writes(&[act("y", 8).whole()])
            .after(summed),
    );
    let summary = "three tasks add to a residual that two others have copied";
    out.push(GraphBase::new("sums/residual", summary, clauses, graph.finish()?));
    Ok(out)
}

/// TR06 and TR07, and what takes their place where nothing is added.
pub fn sums(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let early =
        |sink: &mut Sink, name: &str, task: &str, event: &str, rules: &[Rule], at: &str| -> Result<()> {
            let base = library.get(name)?;
            let (count, end) = (base.at(event, "num_triggers")?, base.at("END", "num_triggers")?);
            let edit = Edit::harmless(format!("`{task}` is not awaited"))
                .replace(base.at(task, "trigger_event")?, base.index("END")?)
                .replace(count.clone(), base.int(&count)? - 1)
                .replace(end.clone(), base.int(&end)? + 1);
            let edit = rules.iter().fold(edit, |edit, rule| edit.or(*rule)).at(base.at(at, "outputs/0")?);
            sink.graph_reject(base, &format!("{task} not awaited"), &edit)
        };
    early(sink, "sums/set-before", "add3", "summed", &[Rule::TR06], "add3")?;
    early(sink, "sums/set-before", "add0", "summed", &[Rule::TR06], "add0")?;
    early(sink, "sums/set-before-hopper", "add1", "summed", &[Rule::TR06], "add1")?;
    early(sink, "sums/set-after", "add2", "summed", &[Rule::TR06], "add2")?;
    early(sink, "sums/residual", "add0", "summed", &[Rule::TR06], "add0")?;
    // The reader after them waits for what is late no more than they do.
    early(sink, "sums/residual", "copy0", "copied", &[Rule::TR06, Rule::TR02], "add0")?;
    early(sink, "sums/residual", "copy1", "copied", &[Rule::TR06, Rule::TR02], "add2")?;

    // A task that only looks on.
    for (name, task) in
        [("sums/set-before", "reader0"), ("sums/set-before-hopper", "reader1"), ("sums/set-after", "top-k")]
    {
        let base = library.get(name)?;
        let added = base.value(&base.at("add0", "outputs/0")?)?.clone();
        let edit = Edit::breaking(Rule::TR06, "one of those that add reads the sum beside the others")
            .at(base.at("add0", "outputs/0")?)
            .insert(base.at("add1", "inputs/-")?, added.clone());
        sink.graph_reject(base, "read beside", &edit)?;
        let edit = Edit::harmless(format!("`{task}` reads the sum twice"));
        let edit = edit.insert(base.at(task, "inputs/-")?, added.clone());
        sink.graph_accept(base, &format!("{task} reads twice"), &edit)?;
        let edit = Edit::breaking(Rule::TR06, "one of those that add also writes the sum")
            .at(base.at("add0", "outputs/0")?)
            .insert(base.at("add1", "outputs/-")?, added);
        sink.graph_reject(base, "written beside", &edit)?;
    }
    // Types that write in place of adding.
    for (name, task, code) in [
        ("sums/set-before", "add1", LINEAR),
        ("sums/set-before", "add3", IDENTITY),
        ("sums/set-after", "add0", LINEAR),
        ("sums/set-before-hopper", "add0", 155),
        ("sums/residual", "add2", 252),
    ] {
        let base = library.get(name)?;
        let edit = Edit::breaking(Rule::TR06, format!("`{task}` is of type {code}, which writes the sum"));
        let edit = with_type(edit, base, task, code)?.clause(clause::TGR_05);
        sink.graph_reject(base, &format!("{task} of type {code}"), &edit)?;
    }
    for (name, count, code) in [
        ("sums/set-before", 4, LINEAR),
        ("sums/set-after", 4, 120),
        ("sums/set-before-hopper", 2, 155),
        ("sums/residual", 3, 155),
    ] {
        let base = library.get(name)?;
        let mut edit = Edit::breaking(Rule::TR04, format!("all tasks write the sum, of type {code}"));
        // Where the start value was, nobody reads it any more: only races are judged where there are any.
        for n in 0..count {
            edit = with_type(edit, base, &format!("add{n}"), code)?;
        }
        sink.graph_reject(base, &format!("all of type {code}"), &edit.clause(clause::TGR_05))?;
    }
    // Both types add.
    for (name, code) in
        [("sums/set-before", ADD_HOPPER), ("sums/set-before-hopper", ADD), ("sums/set-after", ADD_HOPPER)]
    {
        let base = library.get(name)?;
        let edit =
            with_type(Edit::harmless("one of the tasks adds for another architecture"), base, "add1", code)?;
        sink.graph_accept(base, &format!("add1 of type {code}"), &edit.clause(clause::TGR_05))?;
    }
    start_values(sink)
}

/// TR07, and start values that are there.
fn start_values(sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, task, code, what) in [
        (
            "sums/set-before",
            "init",
            IDENTITY,
            "a task that reads the sum is in the place of the one that sets it",
        ),
        (
            "sums/set-before-hopper",
            "init",
            118,
            "a task that reads the sum is in the place of the one that sets it",
        ),
        ("sums/set-after", "top-k", 118, "the router leaves the logits as they are"),
        ("sums/set-after", "top-k", 265, "the logits are sampled and left as they are"),
    ] {
        let base = library.get(name)?;
        let edit =
            with_type(Edit::breaking(Rule::TR07, what), base, task, code)?.at(base.at("add0", "outputs/0")?);
        sink.graph_reject(base, &format!("{task} of type {code}"), &edit.clause(clause::TGR_05))?;
    }
    for (name, task, member, value, what) in [
        ("sums/set-before", "init", "inputs/0/base_ptr", json!("elsewhere"), "another tensor is set"),
        ("sums/set-before-hopper", "init", "inputs/0/dims", json!([1, 8]), "one row of two is set"),
        ("sums/set-before", "init", "inputs/0/dims", json!([2, 4]), "half of the columns are set"),
        (
            "sums/residual",
            "copy0",
            "outputs/0/base_ptr",
            json!("elsewhere"),
            "half of the residual goes elsewhere",
        ),
        ("sums/residual", "copy1", "outputs/0/dims", json!([1, 4]), "a quarter of the residual is missing"),
        ("sums/set-after", "top-k", "inputs/0/base_ptr", json!("elsewhere"), "the router reads other logits"),
    ] {
        let base = library.get(name)?;
        let edit = Edit::breaking(Rule::TR07, what)
            .at(base.at("add0", "outputs/0")?)
            .replace(base.at(task, member)?, value);
        sink.graph_reject(base, &format!("{task} {what}"), &edit)?;
    }
    for (name, task, list, what) in [
        ("sums/set-before", "reader0", "outputs/0", "a reader writes the sum back"),
        ("sums/residual", "reader", "outputs/0", "the reader writes the sum back"),
    ] {
        let base = library.get(name)?;
        let edit = Edit::harmless(what).replace(base.at(task, &format!("{list}/base_ptr"))?, "sum");
        sink.graph_accept(base, what, &edit)?;
    }
    // The start value that is overwritten, and the one that is added to.
    let base = library.get("sums/residual")?;
    let edit = Edit::breaking(Rule::TR05, "the reader overwrites the sum unread")
        .at(base.at("copy0", "outputs/0")?)
        .replace(base.at("reader", "inputs/0/base_ptr")?, "elsewhere")
        .replace(base.at("reader", "outputs/0/base_ptr")?, "sum");
    let edits = ["add0", "add1", "add2"].into_iter().try_fold(edit, |edit, task| -> Result<Edit> {
        Ok(edit.replace(base.at(task, "outputs/0/base_ptr")?, format!("part-{task}")))
    })?;
    // Nobody adds to what is overwritten; the parts have no start value now.
    sink.graph_reject(base, "residual overwritten", &edits.or(Rule::TR07))?;
    let base = library.get("sums/set-after")?;
    let edit =
        Edit::harmless("the logits are set once more when the router has set them").clause(clause::TGR_05);
    let edit = with_type(edit, base, "top-k", 280)?;
    sink.graph_accept(base, "top-k of type 280", &edit)
}
