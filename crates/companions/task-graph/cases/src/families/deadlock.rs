//! Edits that break the TD rules.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::Library;
use megakernel_corpus::families::Sink;
use megakernel_ir::rule::Rule;
use megakernel_task_graph::EVENT_INVALID;
use serde_json::json;

use super::base::{GraphBase, GraphCases, library};

/// TD01 and TD02: events that never get their triggers.
pub fn counts(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    // The dependents of an event that nobody triggers read nothing that needs it: otherwise they race as well.
    for (name, producer, event, reader) in [
        ("chain/two", "t0", "e0", "t1"),
        ("chain/four", "t1", "e1", "t2"),
        ("chain/extended", "t2", "e2", "t3"),
        ("chain/rank-three", "t0", "e0", "t1"),
        ("fan/columns", "p2", "e2", "c2"),
    ] {
        let base = library.get(name)?;
        let (count, end) = (base.at(event, "num_triggers")?, base.at("END", "num_triggers")?);
        let rank = base.int("/all_tasks/1/trigger_event")? - 1;
        let edit = Edit::breaking(Rule::TD01, "the only producer of an event triggers the end in its place")
            .at(count)
            .replace(base.at(producer, "trigger_event")?, rank + base.index("END")?)
            .replace(end.clone(), base.int(&end)? + 1)
            .replace(base.at(reader, "inputs/0/base_ptr")?, "elsewhere");
        sink.graph_reject(base, &format!("{event} has no producer"), &edit)?;
    }
    let base = library.get("chain/side-by-side")?;
    let edit = Edit::breaking(Rule::TD01, "a task waits for a new event that nobody triggers")
        .at("/all_events/3/num_triggers")
        .insert(
            "/all_events/-",
            json!({"event_type": 900, "first_task_id": 5, "last_task_id": 6, "num_triggers": 1}),
        )
        .replace("/all_tasks/5/dependent_event", 3)
        .replace("/first_tasks", json!([2, 3, 4]));
    sink.graph_reject(base, "new-event", &edit)?;
    let edit =
        Edit::breaking(Rule::TD01, "a task waits for a new event that takes no trigger, and nobody triggers")
            .at("/all_events/3/num_triggers")
            .insert(
                "/all_events/-",
                json!({"event_type": 900, "first_task_id": 5, "last_task_id": 6, "num_triggers": 0}),
            )
            .replace("/all_tasks/5/dependent_event", 3)
            .replace("/first_tasks", json!([2, 3, 4]));
    sink.graph_reject(base, "new-event-without-triggers", &edit)?;

    for (name, event, by) in [
        ("chain/one", "END", 1),
        ("chain/two", "e0", 1),
        ("chain/side-by-side", "END", 3),
        ("fan/join", "e0", 1),
        ("fan/split", "END", 1),
        ("fan/massive", "e3", 4),
        ("diamond/merged", "join", 1),
        ("diamond/three-ends", "END", 1),
        ("decoder/earlier", "projected", 1 << 31),
        ("decoder/extended", "END", 2),
        ("reuse/caches", "b", 1),
        ("ranks/two", "1:ready-a0", 1),
        ("ranks/two", "0:copied-b0", 1),
        ("ranks/four", "3:copied-a1", 1),
        ("ranks/three", "2:END", 1),
        ("bare/copies", "copied0", 1),
    ] {
        let base = library.get(name)?;
        let at = base.at(event, "num_triggers")?;
        let count = base.int(&at)?;
        let edit =
            Edit::breaking(Rule::TD02, format!("an event takes {} triggers and gets {count}", count + by))
                .at(at.clone())
                .replace(at, count + by);
        sink.graph_reject(base, &format!("{event} takes {by} more"), &edit)?;
    }
    Ok(())
}

/// Makes `task` trigger `event` in place of the end, and keeps both counts right.
fn redirect(base: &GraphBase, task: &str, event: &str, what: &str) -> Result<Edit> {
    let rank = base.int("/all_tasks/1/trigger_event")? - 1;
    let (to, end) = (base.at(event, "num_triggers")?, base.at("END", "num_triggers")?);
    Ok(Edit { what: what.to_owned(), ..Edit::default() }
        .replace(base.at(task, "trigger_event")?, rank + base.index(event)?)
        .replace(to.clone(), base.int(&to)? + 1)
        .replace(end.clone(), base.int(&end)? - 1))
}

fn broken(edit: Edit, rule: Rule, at: String) -> Edit {
    Edit { rules: vec![rule], ..edit }.at(at)
}

/// TD03 and TD04.
pub fn order(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, task, event, first, what) in [
        ("diamond/three-ends", "b", "next", None, "a task triggers the event that it waits for"),
        ("fan/all-to-all", "c0", "e0", None, "the first of four readers triggers its own event"),
        ("fan/split", "c0", "e0", None, "the first of four readers triggers its own event"),
        ("decoder/extended", "down0", "attended", Some("add0"), "the MLP comes before the output projection"),
        ("decoder/earlier", "down1", "projected", Some("attend0"), "the MLP comes before attention"),
        (
            "decoder/earlier",
            "down0",
            "embedded",
            Some("qkv0"),
            "the MLP comes before everything but the embedding",
        ),
    ] {
        let base = library.get(name)?;
        let edit =
            broken(redirect(base, task, event, what)?, Rule::TD03, base.at(first.unwrap_or(task), "")?);
        sink.graph_reject(base, &format!("{task} triggers {event}"), &edit)?;
    }
    let base = library.get("ranks/two-by-two")?;
    let edit =
        Edit::breaking(Rule::TD03, "copies wait for the sum that they are a part of, or that comes later")
            // The copy to the other rank is on no cycle, and waits for a task of higher id all the same.
            .or(Rule::TD04)
            .at(base.at("0:copy-b0-to-0", "")?)
            .replace(base.at("0:reduce-b0", "trigger_event")?, base.index("0:ready-b0")?)
            .replace(base.at("0:ready-b0", "num_triggers")?, 2)
            .replace(base.at("0:END", "num_triggers")?, 1);
    sink.graph_reject(base, "copies wait for their sum", &edit)?;

    // Ids ascend on both ranks, and yet each waits for what the other does later.
    let base = library.get("ranks/exchanges")?;
    let (copy, reduce) = (base.at("0:copy-y-to-1", "")?, base.at("0:reduce-x", "")?);
    let (i, j) = (base.index("0:copy-y-to-1")?, base.index("0:reduce-x")?);
    let edit =
        Edit::breaking(Rule::TD04, "a rank waits for one exchange before it takes its part in the other")
            .at(format!("{copy}/dependent_event"))
            .replace(copy.clone(), base.value(&reduce)?.clone())
            .replace(reduce.clone(), base.value(&copy)?.clone())
            .replace(
                base.at("0:copied-x", "")?,
                json!({"event_type": 900, "first_task_id": i, "last_task_id": i + 1, "num_triggers": 2}),
            )
            .replace("/ranks/0/first_tasks", json!([2, 3, 4, j]));
    sink.graph_reject(base, "waits before it copies", &edit)?;

    // Two tasks change places with all that they are: ids descend, and nothing else is different.
    for (name, first, second, consumer) in [
        ("chain/two", "t0", "t1", "/all_tasks/2"),
        ("chain/rank-three", "t1", "t2", "/all_tasks/3"),
        ("chain/extended", "t2", "t3", "/all_tasks/4"),
        ("chain/four", "t0", "t1", "/all_tasks/2"),
        ("fan/columns", "p3", "c3", "/all_tasks/5"),
        ("reuse/in-place", "update", "last", "/all_tasks/3"),
    ] {
        swapped(sink, library.get(name)?, first, second, consumer)?;
    }
    Ok(())
}

/// Exchanges two tasks, of which the first waits for nothing or for an event of one dependent.
fn swapped(sink: &mut Sink, base: &GraphBase, first: &str, second: &str, consumer: &str) -> Result<()> {
    let (a, b) = (base.at(first, "")?, base.at(second, "")?);
    let (one, two) = (base.value(&a)?.clone(), base.value(&b)?.clone());
    let (i, j) = (base.index(first)?, base.index(second)?);
    let mut edit = Edit::breaking(Rule::TD04, format!("`{first}` and `{second}` change places: ids descend"))
        .at(format!("{consumer}/dependent_event"))
        .replace(a, two)
        .replace(b, one);
    let events = base.value("/all_events")?.as_array().cloned().unwrap_or_default();
    for (e, event) in events.iter().enumerate().skip(2) {
        let range = (event["first_task_id"].as_i64(), event["last_task_id"].as_i64());
        let moved = match range {
            (Some(from), Some(to)) if (from, to) == (i, i + 1) => j,
            (Some(from), Some(to)) if (from, to) == (j, j + 1) => i,
            _ => continue,
        };
        let mut event = event.clone();
        event["first_task_id"] = json!(moved);
        event["last_task_id"] = json!(moved + 1);
        edit = edit.replace(format!("/all_events/{e}"), event);
    }
    let firsts = base.value("/first_tasks")?.as_array().cloned().unwrap_or_default();
    if firsts.contains(&json!(i)) {
        let mut firsts: Vec<i64> =
            firsts.iter().filter_map(|task| task.as_i64()).filter(|&task| task != i).collect();
        firsts.push(j);
        firsts.sort_unstable();
        edit = edit.replace("/first_tasks", json!(firsts));
    }
    sink.graph_reject(base, &format!("{first} after {second}"), &edit)
}

/// TD05.
pub fn lost(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, task) in [
        ("chain/side-by-side", "t2"),
        ("diamond/three-ends", "d"),
        ("fan/split", "c1"),
        ("decoder/extended", "down1"),
    ] {
        let base = library.get(name)?;
        let end = base.at("END", "num_triggers")?;
        let count = base.int(&end)? - 1;
        let at = base.at(task, "trigger_event")?;
        let edit =
            Edit::breaking(Rule::TD05, "a task triggers nothing").at(at.clone()).replace(at, EVENT_INVALID);
        sink.graph_reject(base, &format!("{task} triggers nothing"), &edit.replace(end, count))?;
    }
    // Triggers of an event that nobody waits for lead nowhere.
    for (name, task) in [("diamond/three-ends", "c"), ("fan/all-to-all", "c0"), ("decoder/earlier", "down0")]
    {
        let base = library.get(name)?;
        let end = base.at("END", "num_triggers")?;
        let position = base.value("/all_events")?.as_array().map_or(0, Vec::len);
        let at = base.at(task, "trigger_event")?;
        let edit = Edit::breaking(Rule::TD05, "a task triggers an event that nobody waits for")
            .at(at.clone())
            .insert(
                "/all_events/-",
                json!({"event_type": 900, "first_task_id": 0, "last_task_id": 0, "num_triggers": 1}),
            )
            .replace(at, position)
            .replace(end.clone(), base.int(&end)? - 1);
        sink.graph_reject(base, &format!("{task} triggers in vain"), &edit)?;
    }
    let base = library.get("ranks/apart")?;
    let at = base.at("1:t2", "trigger_event")?;
    let edit = Edit::breaking(Rule::TD05, "on the second rank nobody triggers the end")
        .or(Rule::TD01)
        .at(at.clone())
        .replace(at, EVENT_INVALID);
    sink.graph_reject(base, "second-rank", &edit)
}
