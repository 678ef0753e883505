//! Edits that break the TS rules, besides those of event ids.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::Library;
use megakernel_corpus::families::Sink;
use megakernel_ir::rule::Rule;
use megakernel_task_graph::EVENT_INVALID;
use serde_json::{Value, json};

use super::base::{GraphCases, library};

/// TS01 and TS02: tasks 0 and 1, events 0 and 1, and the end.
pub fn reserved(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let base = library.get("chain/two")?;
    let ts01: [(&str, &str, Value); 5] = [
        ("/all_tasks/0/task_type", "task 0 is a LINEAR", json!(108)),
        ("/all_tasks/0/trigger_event", "TERMINATE triggers an event", json!(2)),
        ("/all_tasks/0/dependent_event", "TERMINATE waits for an event", json!(2)),
        ("/all_tasks/1/task_type", "task 1 is a LINEAR", json!(108)),
        ("/all_tasks/1/trigger_event", "BEGIN triggers event 2", json!(2)),
    ];
    for (path, what, value) in ts01 {
        let task = path.rsplit_once('/').map_or("", |(task, _)| task);
        // What waits for an event shows in its range as well, which is not looked at while ids dangle.
        let edit = Edit::breaking(Rule::TS01, what).at(task).replace(path, value);
        sink.graph_reject(base, path, &edit)?;
    }
    let base = library.get("fan/join")?;
    for (label, kind, what) in [
        ("p1", 0, "a second TERMINATE"),
        ("p2", 10, "a second BEGIN"),
        ("c0", 200, "a task of the scheduler"),
        ("p3", 203, "another task of the scheduler"),
    ] {
        let edit = Edit::breaking(Rule::TS01, what)
            .at(base.at(label, "")?)
            .replace(base.at(label, "task_type")?, kind);
        sink.graph_reject(base, what, &edit)?;
    }
    let base = library.get("chain/extended")?;
    let edit = Edit::breaking(Rule::TS01, "BEGIN triggers nothing")
        .at("/all_tasks/1")
        .replace("/all_tasks/1/trigger_event", EVENT_INVALID);
    sink.graph_reject(base, "begin-triggers-nothing", &edit)?;
    let base = library.get("chain/one")?;
    for (tasks, what) in [(1, "there is no task besides TERMINATE"), (0, "there is no task at all")] {
        let kept: Vec<Value> =
            base.value("/all_tasks")?.as_array().into_iter().flatten().take(tasks).cloned().collect();
        let edit = Edit::breaking(Rule::TS01, what)
            .at("/all_tasks")
            .replace("/all_tasks", kept)
            .replace("/all_events/1/last_task_id", tasks)
            .replace("/first_tasks", json!([]));
        // Event 1 launches the tasks from 2 on, up to their number.
        sink.graph_reject(base, what, &edit)?;
    }
    let nothing = |edit: Edit| {
        edit.remove("/all_tasks/2")
            .replace("/all_events/1/last_task_id", 2)
            .replace("/first_tasks", json!([]))
    };
    let edit = Edit::breaking(
        Rule::TD01,
        "there is no task besides TERMINATE and BEGIN, and nobody triggers the end",
    );
    sink.graph_reject(base, "nothing to do", &nothing(edit).at("/all_events/2/num_triggers"))?;
    let edit = Edit::breaking(Rule::TS02, "there is no end, and nothing to do").at("/all_events");
    sink.graph_reject(base, "no end", &nothing(edit).remove("/all_events/2"))?;
    for (events, what) in [(1, "there is no event besides TERMINATION"), (0, "there is no event at all")] {
        let kept: Vec<Value> =
            base.value("/all_events")?.as_array().into_iter().flatten().take(events).cloned().collect();
        let edit = Edit::breaking(Rule::TS02, what)
            .at("/all_events")
            .remove("/all_tasks/2")
            .replace("/all_events", kept)
            .replace("/first_tasks", json!([]));
        sink.graph_reject(base, what, &edit)?;
    }
    let base = library.get("ranks/two")?;
    let edit = Edit::breaking(Rule::TS01, "in the second rank, BEGIN waits for an event")
        .at("/ranks/1/all_tasks/1")
        .replace("/ranks/1/all_tasks/1/dependent_event", (1i64 << 32) | 2);
    sink.graph_reject(base, "begin-waits", &edit)?;

    let base = library.get("chain/two")?;
    for (path, what, value) in [
        ("/all_events/0/event_type", "event 0 is EMPTY", 900),
        ("/all_events/0/num_triggers", "event 0 takes 2 triggers", 2),
        ("/all_events/1/event_type", "event 1 is LAUNCH_TASKS", 901),
        ("/all_events/1/num_triggers", "event 1 takes no trigger", 0),
        ("/all_events/1/first_task_id", "event 1 launches task 1 too", 1),
        ("/all_events/1/last_task_id", "event 1 leaves the last task out", 3),
    ] {
        let event = path.rsplit_once('/').map_or("", |(event, _)| event);
        sink.graph_reject(base, path, &Edit::breaking(Rule::TS02, what).at(event).replace(path, value))?;
    }
    let edit = Edit::breaking(Rule::TS02, "event 0 has a range")
        .at("/all_events/0")
        .replace("/all_events/0/first_task_id", 2)
        .replace("/all_events/0/last_task_id", 3);
    sink.graph_reject(base, "event-0-has-a-range", &edit)?;
    let base = library.get("fan/join")?;
    let end = base.at("END", "")?;
    let edit = Edit::breaking(Rule::TS02, "the end has a range")
        .at(end.clone())
        .replace(format!("{end}/last_task_id"), 1);
    sink.graph_reject(base, "end-has-a-range", &edit)?;
    let edit = Edit::breaking(Rule::TS02, "there is a second end").at("/all_events/4").insert(
        "/all_events/-",
        json!({"event_type": 910, "first_task_id": 0, "last_task_id": 0, "num_triggers": 1}),
    );
    sink.graph_reject(base, "second-end", &edit)?;
    let base = library.get("ranks/apart")?;
    let edit = Edit::breaking(Rule::TS02, "the second rank launches one task less")
        .at("/ranks/1/all_events/1")
        .replace("/ranks/1/all_events/1/last_task_id", 4);
    sink.graph_reject(base, "second-rank-launches-less", &edit)
}

/// TS03: events that are only there while a graph is made, and others that have no business in it.
pub fn event_types(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, label, kind, what) in [
        ("chain/two", "e0", 901, "LAUNCH_TASKS"),
        ("fan/massive", "e2", 902, "LAUNCH_MASSIVE_TASKS"),
        ("diamond/merged", "fork", 903, "LAUNCH_DEPENDENT_TASKS"),
        ("decoder/extended", "attended", 911, "TERMINATION"),
        ("reuse/buffer", "b", 999, "INVALID"),
        ("ranks/two", "1:copied-a0", 901, "LAUNCH_TASKS, on the second rank"),
        ("chain/extended", "e1", 904, "of a type that does not exist"),
        ("chain/four", "e2", -1, "of a negative type"),
        ("fan/join", "e0", 0, "of type 0"),
    ] {
        let base = library.get(name)?;
        let at = base.at(label, "event_type")?;
        let mut edit =
            Edit::breaking(Rule::TS03, format!("an event is {what}")).replace(at.clone(), kind).at(at);
        // Tasks that name such an event name one that they may not name.
        edit = edit.or(Rule::TS04);
        sink.graph_reject(base, &format!("{label} {kind}"), &edit)?;
    }
    // Where nothing names the event, the type is all that is wrong.
    for (name, kind) in [
        ("chain/one", 901),
        ("chain/two", 902),
        ("fan/join", 903),
        ("decoder/earlier", 911),
        ("chain/extended", 0),
    ] {
        let base = library.get(name)?;
        let count = base.value("/all_events")?.as_array().map_or(0, Vec::len);
        let event = json!({"event_type": kind, "first_task_id": 0, "last_task_id": 0, "num_triggers": 1});
        let edit = Edit::breaking(Rule::TS03, format!("an event that nobody uses is of type {kind}"))
            .at(format!("/all_events/{count}/event_type"))
            .insert("/all_events/-", event);
        sink.graph_reject(base, &format!("unused {kind}"), &edit)?;
    }
    Ok(())
}

/// TS06: ranges and dependents.
pub fn ranges(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, label, member, by, what) in [
        ("chain/four", "e0", "first_task_id", 1, "begins behind its only dependent"),
        ("chain/four", "e1", "last_task_id", 1, "takes in the task after its dependent"),
        ("fan/split", "e0", "last_task_id", -1, "leaves its last dependent out"),
        ("fan/all-to-all", "e0", "first_task_id", -1, "takes in a producer"),
        ("fan/pairs", "e1", "first_task_id", 1000, "begins behind all tasks"),
        ("fan/pairs", "e0", "last_task_id", 1 << 40, "ends far behind all tasks"),
        ("decoder/extended", "gated", "first_task_id", -100, "begins before task 0"),
    ] {
        let base = library.get(name)?;
        let path = base.at(label, member)?;
        let edit = Edit::breaking(Rule::TS06, format!("the range of an event {what}"))
            .at(base.at(label, "")?)
            .replace(path.clone(), base.int(&path)? + by);
        sink.graph_reject(base, &format!("{label} {member} {by}"), &edit)?;
    }
    let base = library.get("ranks/two-by-two")?;
    let path = base.at("1:summed", "last_task_id")?;
    let edit = Edit::breaking(Rule::TS06, "on the second rank, the range of an event is short by one")
        .at(base.at("1:summed", "")?)
        .replace(path.clone(), base.int(&path)? - 1);
    sink.graph_reject(base, "second-rank", &edit)?;
    let base = library.get("chain/two")?;
    let edit = Edit::breaking(Rule::TS06, "an event that no task depends on has a range")
        .at("/all_events/4")
        .insert(
            "/all_events/-",
            json!({"event_type": 900, "first_task_id": 2, "last_task_id": 3, "num_triggers": 1}),
        );
    sink.graph_reject(base, "nobody-depends", &edit)
}

/// TS07.
pub fn first_tasks(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, value, at, what) in [
        ("chain/two", json!([]), "/first_tasks", "the first task is not listed"),
        ("chain/two", json!([2, 3]), "/first_tasks/1", "a task that waits is listed"),
        ("fan/join", json!([2, 3, 5, 4]), "/first_tasks/2", "the list does not ascend"),
        ("fan/join", json!([2, 3, 4]), "/first_tasks", "the last of four is left out"),
        ("fan/join", json!([2, 2, 3, 4, 5]), "/first_tasks/1", "a task is listed twice"),
        ("chain/extended", json!([1, 2]), "/first_tasks/0", "BEGIN is listed"),
        (
            "chain/side-by-side",
            json!([2, 3, 4, 5, 6]),
            "/first_tasks/4",
            "a task is listed that does not exist",
        ),
        ("diamond/uneven", json!([2, -5]), "/first_tasks/1", "a negative number is listed"),
    ] {
        let base = library.get(name)?;
        let edit = Edit::breaking(Rule::TS07, what).at(at).replace("/first_tasks", value);
        sink.graph_reject(base, what, &edit)?;
    }
    let base = library.get("ranks/three")?;
    let edit = Edit::breaking(Rule::TS07, "the third rank lists no first task")
        .at("/ranks/2/first_tasks")
        .replace("/ranks/2/first_tasks", json!([]));
    sink.graph_reject(base, "third-rank", &edit)
}

/// TS08.
pub fn capacity(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let null = json!({"base_ptr": "nullptr", "data_type": 999, "dims": [], "offset": 0, "strides": []});
    let tile = |name: &str| json!({"base_ptr": name, "data_type": 941, "dims": [1, 8], "offset": 0, "strides": [8, 1]});
    let base = library.get("chain/full")?;
    for (what, extra) in
        [("an eighth input", tile("more")), ("an eighth input, which is absent", null.clone())]
    {
        let edit = Edit::breaking(Rule::TS08, what)
            .at(base.at("full", "inputs")?)
            .insert(base.at("full", "inputs/-")?, extra);
        sink.graph_reject(base, what, &edit)?;
    }
    let edit = Edit::breaking(Rule::TS08, "a fourth output, of the extended version")
        .at(base.at("full", "outputs")?)
        .insert(base.at("full", "outputs/-")?, tile("more"));
    sink.graph_reject(base, "fourth-output", &edit)?;
    let base = library.get("chain/two")?;
    let outputs = json!([tile("h1"), tile("b"), tile("c")]);
    let edit = Edit::breaking(Rule::TS08, "three outputs, of the earlier version")
        .at(base.at("t1", "outputs")?)
        .replace(base.at("t1", "outputs")?, outputs);
    sink.graph_reject(base, "third-output", &edit)?;
    let base = library.get("decoder/earlier")?;
    let edit = Edit::breaking(Rule::TS08, "an attention task with 8 inputs")
        .at(base.at("attend1", "inputs")?)
        .insert(base.at("attend1", "inputs/-")?, null);
    sink.graph_reject(base, "attention", &edit)?;
    let base = library.get("tiles/four-axes")?;
    for (what, tile, dims, strides) in [
        ("five axes", "write", json!([1, 1, 2, 2, 3]), json!([1, 48, 12, 6, 1])),
        ("six axes, all of them 1", "read", json!([1, 1, 1, 1, 1, 1]), json!([1, 1, 1, 1, 1, 1])),
    ] {
        let list = if tile == "write" { "outputs/0" } else { "inputs/0" };
        let at = base.at(tile, list)?;
        let edit = Edit::breaking(Rule::TS08, format!("a tile of {what}"))
            .at(format!("{at}/dims"))
            .replace(format!("{at}/dims"), dims)
            .replace(format!("{at}/strides"), strides);
        sink.graph_reject(base, what, &edit)?;
    }
    Ok(())
}

/// TS09.
pub fn tensors(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, tile, member, value, what) in [
        ("chain/two", ("t0", "inputs/0"), "dims", json!([2, 8, 1]), "more extents than strides"),
        ("chain/two", ("t1", "outputs/0"), "strides", json!([8]), "fewer strides than extents"),
        ("fan/join", ("p2", "outputs/0"), "dims", json!([2, 0]), "an extent of 0"),
        ("fan/join", ("c0", "inputs/0"), "dims", json!([-2, 16]), "a negative extent"),
        ("chain/extended", ("t2", "inputs/1"), "strides", json!([8, -1]), "a negative stride"),
        ("decoder/earlier", ("down0", "inputs/0"), "data_type", json!(900), "an element type that is none"),
        ("decoder/extended", ("up3", "outputs/0"), "data_type", json!(999), "the unknown element type"),
        ("tiles/nibbles", ("read", "inputs/0"), "data_type", json!(970), "an element type behind the last"),
        ("decoder/earlier", ("attend0", "inputs/3"), "offset", json!(2), "an absent tensor with an offset"),
        (
            "decoder/earlier",
            ("attend1", "inputs/4"),
            "data_type",
            json!(7),
            "an absent tensor of a type that is none",
        ),
        ("reuse/caches", ("again", "inputs/6"), "dims", json!([1]), "an absent tensor with an extent"),
        (
            "ranks/two",
            ("1:reduce-a0", "inputs/1"),
            "dims",
            json!([2, 2]),
            "on the second rank, fewer extents than strides",
        ),
    ] {
        let base = library.get(name)?;
        let at = base.at(tile.0, tile.1)?;
        let edit = Edit::breaking(Rule::TS09, format!("a tile with {what}"))
            .at(at.clone())
            .replace(format!("{at}/{member}"), value);
        sink.graph_reject(base, what, &edit)?;
    }
    let base = library.get("chain/four")?;
    let at = base.at("t3", "inputs/0")?;
    let edit = Edit::breaking(Rule::TS09, "a tile without axes")
        .at(at.clone())
        .replace(format!("{at}/dims"), json!([]))
        .replace(format!("{at}/strides"), json!([]));
    sink.graph_reject(base, "no-axes", &edit)
}

/// TS10.
pub fn metadata(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let base = library.get("chain/full")?;
    for (label, member, value, what) in [
        ("full", "kv_idx", 0, "the cache index is not the upper half of the low word"),
        ("full", "request_id", 1, "the request is not the low bits"),
        ("full", "expert_offset", 0, "the expert offset is neither"),
        ("next", "task_offset", 0x5_0003, "the task offset is not the expert offset"),
        ("next", "request_id", 40_000i64, "a request does not fit into 16 bits with sign"),
        ("next", "kv_idx", 65_541, "a cache index does not fit into 16 bits"),
        ("next", "merge_task_offset", 1i64 << 31, "the upper half does not fit into 32 bits with sign"),
    ] {
        let at = base.at(label, member)?;
        let mut edit = Edit::breaking(Rule::TS10, what).replace(at.clone(), value);
        if member == "task_offset" || what.contains("fit") {
            edit = edit.at(at);
        }
        sink.graph_reject(base, &format!("{label} {member}"), &edit)?;
    }
    let base = library.get("decoder/extended")?;
    for (label, member) in [("attend0", "kv_idx"), ("embed1", "request_id"), ("down1", "merge_task_offset")] {
        let edit = Edit::breaking(Rule::TS10, format!("a task lacks `{member}`"))
            .at(base.at(label, "")?)
            .remove(base.at(label, member)?);
        sink.graph_reject(base, &format!("{label} lacks {member}"), &edit)?;
    }
    let base = library.get("decoder/earlier")?;
    let edit = Edit::breaking(
        Rule::TS10,
        "one task of a graph of the earlier version has a member of the extended one",
    )
    .at(base.at("add1", "request_id")?)
    .insert(base.at("add1", "request_id")?, 0);
    sink.graph_reject(base, "one-has-it", &edit)
}
