//! What the faults of task graphs make of documents.

use megakernel_task_graph::{EVENT_INVALID, NVSHMEM_TAG};
use serde_json::{Value, json};

use crate::build::metadata;

/// The graphs of a document.
fn graphs(document: &mut Value) -> Vec<&mut Value> {
    if document.get("ranks").is_some_and(Value::is_array) {
        return document["ranks"].as_array_mut().into_iter().flatten().collect();
    }
    vec![document]
}

fn list<'a>(record: &'a mut Value, name: &str) -> Vec<&'a mut Value> {
    record.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten().collect()
}

fn tasks(document: &mut Value, mut change: impl FnMut(&mut Value)) {
    for graph in graphs(document) {
        list(graph, "all_tasks").into_iter().for_each(&mut change);
    }
}

fn tiles(document: &mut Value, mut change: impl FnMut(&mut Value)) {
    tasks(document, |task| {
        for name in ["inputs", "outputs"] {
            let present =
                |tile: &&mut Value| tile.get("dims").and_then(Value::as_array).is_some_and(|d| !d.is_empty());
            list(task, name).into_iter().filter(present).for_each(&mut change);
        }
    });
}

fn ints(value: &Value) -> Vec<i64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_i64).collect()
}

/// Each tile as one row from its first to its last element.
pub fn hulls(document: &mut Value) {
    tiles(document, |tile| {
        let pairs = ints(&tile["dims"]).into_iter().zip(ints(&tile["strides"]));
        let last: i64 = pairs.map(|(extent, stride)| (extent - 1).max(0).saturating_mul(stride.max(0))).sum();
        tile["dims"] = json!([last + 1]);
        tile["strides"] = json!([1]);
    });
}

/// Each tile as one element at the begin of its tensor.
pub fn whole_tensors(document: &mut Value) {
    tiles(document, |tile| {
        tile["dims"] = json!([1]);
        tile["strides"] = json!([1]);
        tile["offset"] = json!(0);
    });
}

/// Each tile at the begin of its tensor.
pub fn no_offsets(document: &mut Value) {
    tiles(document, |tile| tile["offset"] = json!(0));
}

/// Each tile with the strides of its own extents.
pub fn contiguous(document: &mut Value) {
    tiles(document, |tile| {
        let dims = ints(&tile["dims"]);
        let strides: Vec<i64> = (0..dims.len()).map(|d| dims.iter().skip(d + 1).product()).collect();
        tile["strides"] = json!(strides);
    });
}

/// Each tile of bfloat16.
pub fn sixteen_bits(document: &mut Value) {
    tiles(document, |tile| tile["data_type"] = json!(941));
}

/// Attention as a type that writes its outputs only.
pub fn caches_read(document: &mut Value) {
    tasks(document, |task| {
        if matches!(task["task_type"].as_i64(), Some(103 | 115)) {
            task["task_type"] = json!(118);
        }
    });
}

/// Tasks of other types.
pub fn retyped(document: &mut Value, types: &[(i64, i64)]) {
    tasks(document, |task| {
        let other = types.iter().find(|(from, _)| task["task_type"] == *from);
        if let Some((_, to)) = other {
            task["task_type"] = json!(to);
        }
    });
}

/// Metadata words with these bits cleared, of all tasks but the reserved ones.
fn masked(document: &mut Value, low: i64, high: bool) {
    tasks(document, |task| {
        let word = (task["expert_offset"].as_i64(), task["merge_task_offset"].as_i64());
        if let ((Some(word), Some(upper)), false) = (word, task["task_type"] == 0 || task["task_type"] == 10)
        {
            let kept = i64::from((word & low) as i32);
            for (member, value) in metadata([kept, if high { upper } else { 0 }]) {
                task[member] = json!(value);
            }
        }
    });
}

/// No task of a request.
pub fn no_requests(document: &mut Value) {
    masked(document, !0xffff, true);
}

/// No task of a chunk, or of what else the middle of the word says.
pub fn no_middle(document: &mut Value) {
    masked(document, 0xffff, true);
}

/// No task with an upper half of the word.
pub fn no_upper(document: &mut Value) {
    masked(document, !0, false);
}

/// No metadata that says anything.
pub fn no_words(document: &mut Value) {
    masked(document, 0, false);
}

/// Collectives of one team.
pub fn one_team(document: &mut Value) {
    tasks(document, |task| {
        if task["task_type"] == 302 && task.get("task_offset").is_some() {
            for (member, value) in metadata([0, -1]) {
                task[member] = json!(value);
            }
        }
    });
}

/// Each collective of a rank in a team of its own.
pub fn own_teams(document: &mut Value) {
    for graph in graphs(document) {
        let collectives = list(graph, "all_tasks").into_iter().filter(|task| task["task_type"] == 302);
        for (n, task) in (0..).zip(collectives.filter(|task| task.get("task_offset").is_some())) {
            for (member, value) in metadata([n, -1]) {
                task[member] = json!(value);
            }
        }
    }
}

/// Waits for events that puts signal like any other.
pub fn waits_untagged(document: &mut Value) {
    tasks(document, |task| {
        if let Some(id) = task["dependent_event"].as_i64().filter(|id| *id != EVENT_INVALID) {
            task["dependent_event"] = json!(id & !NVSHMEM_TAG);
        }
    });
}

/// Collectives that sum up a tensor of their own rank's alone.
pub fn operands_apart(document: &mut Value) {
    tasks(document, |task| {
        if task["task_type"] == 302 {
            task["inputs"] = json!([]);
        }
    });
}

/// No kernel graph.
pub fn undeclared(document: &mut Value) {
    if let Some(members) = document.as_object_mut() {
        members.remove("kernel_graph");
    }
}

/// The first rank alone.
pub fn first_rank(document: &mut Value) {
    if let Some(ranks) = document.get_mut("ranks").and_then(Value::as_array_mut) {
        ranks.truncate(1);
    }
}

/// Each task with the event whose range it is in.
pub fn by_range(document: &mut Value) {
    for graph in graphs(document) {
        let ranges: Vec<(i64, i64, i64)> = list(graph, "all_events")
            .into_iter()
            .enumerate()
            .filter(|(_, event)| event["event_type"] == 900)
            .filter_map(|(e, event)| {
                Some((e as i64, event["first_task_id"].as_i64()?, event["last_task_id"].as_i64()?))
            })
            .collect();
        for (t, task) in list(graph, "all_tasks").into_iter().enumerate() {
            let found = ranges.iter().find(|(_, first, last)| (*first..*last).contains(&(t as i64)));
            let rank = task["trigger_event"].as_i64().map_or(0, |id| id & (0xffff << 32));
            if let (Some((event, _, _)), true) = (found, task["task_type"] != 199) {
                task["dependent_event"] = json!(rank | event);
            }
        }
    }
}

/// What a reader makes of every integer that goes through binary64.
pub fn doubles(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(exact) = number.as_i64() {
                *value = json!(exact as f64 as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(doubles),
        Value::Object(members) => members.values_mut().for_each(doubles),
        _ => {}
    }
}

/// Lists for operands that are null.
pub fn null_as_empty(document: &mut Value) {
    tasks(document, |task| {
        for name in ["inputs", "outputs"] {
            if task[name].is_null() {
                task[name] = json!([]);
            }
        }
    });
}

/// No member that this version does not know.
pub fn without_unknown(document: &mut Value) {
    const KNOWN: [&str; 11] = [
        "dependent_event",
        "expert_offset",
        "inputs",
        "kv_idx",
        "merge_task_offset",
        "outputs",
        "request_id",
        "task_offset",
        "task_type",
        "trigger_event",
        "variant_id",
    ];
    if let Some(members) = document.as_object_mut() {
        members.retain(|name, _| ["all_tasks", "all_events", "first_tasks"].contains(&name.as_str()));
    }
    for event in list(document, "all_events") {
        if let Some(members) = event.as_object_mut() {
            members.retain(|name, _| {
                ["event_type", "first_task_id", "last_task_id", "num_triggers"].contains(&name.as_str())
            });
        }
    }
    tasks(document, |task| {
        if let Some(members) = task.as_object_mut() {
            members.retain(|name, _| KNOWN.contains(&name.as_str()));
        }
    });
    tiles(document, |tile| {
        if let Some(members) = tile.as_object_mut() {
            members.retain(|name, _| {
                ["base_ptr", "data_type", "dims", "offset", "strides"].contains(&name.as_str())
            });
        }
    });
}

/// One member of the metadata in every task.
pub fn with_metadata(document: &mut Value) {
    tasks(document, |task| {
        if let Some(members) = task.as_object_mut() {
            members.entry("request_id").or_insert(json!(-1));
        }
    });
}

fn copies(document: &mut Value, mut change: impl FnMut(i64) -> i64) {
    tasks(document, |task| {
        if let (Some(199), Some(id)) = (task["task_type"].as_i64(), task["trigger_event"].as_i64()) {
            task["trigger_event"] = json!(change(id));
        }
    });
}

/// A request to translate for the current generator as one for the earlier one.
pub fn earlier(request: &mut Value) {
    if request["mode"] == "exact-current" {
        request["mode"] = json!("exact");
    }
}

/// Copies without the tag.
pub fn untagged(document: &mut Value) {
    copies(document, |id| id & !NVSHMEM_TAG);
}

/// Copies to the own rank.
pub fn to_own_rank(document: &mut Value) {
    let begin = document["all_tasks"][1]["trigger_event"].as_i64().unwrap_or(0);
    copies(document, |id| id & !(0xffff << 32) | begin & (0xffff << 32));
}

/// Events of eight tasks or more as they are before the prelaunch.
pub fn massive(document: &mut Value) {
    for event in list(document, "all_events") {
        let range = (event["first_task_id"].as_i64(), event["last_task_id"].as_i64());
        if let ((Some(first), Some(last)), Some(900)) = (range, event["event_type"].as_i64())
            && last - first >= 8
        {
            event["event_type"] = json!(902);
        }
    }
}

/// Fused tensors as plain ones.
pub fn unfused(request: &mut Value) {
    for tensor in list(&mut request["kernel_graph"], "tensors") {
        tensor["io"] = json!("cuda");
    }
}

/// Exchanges the operands of the tasks of each run of one type, last for first.
pub fn reversed_work(document: &mut Value) {
    let Some(tasks) = document.get_mut("all_tasks").and_then(Value::as_array_mut) else { return };
    let same = |a: &Value, b: &Value| a["task_type"] == b["task_type"] && a["variant_id"] == b["variant_id"];
    for run in tasks.chunk_by_mut(same) {
        for member in ["inputs", "outputs"] {
            let mut values: Vec<Value> = run.iter().map(|task| task[member].clone()).collect();
            values.reverse();
            run.iter_mut().zip(values).for_each(|(task, value)| task[member] = value);
        }
    }
}

/// Offsets of wide elements halved.
pub fn offsets_in_elements(document: &mut Value) {
    tiles(document, |tile| {
        let wide = matches!(tile["data_type"].as_i64(), Some(940..));
        if let (true, Some(offset)) = (wide, tile["offset"].as_i64()) {
            tile["offset"] = json!(offset / 2);
        }
    });
}

/// REDUCE without outputs.
pub fn no_reduce_output(document: &mut Value) {
    tasks(document, |task| {
        if task["task_type"] == 107 {
            task["outputs"] = json!([]);
        }
    });
}

/// The first variant everywhere.
pub fn no_variants(document: &mut Value) {
    tasks(document, |task| task["variant_id"] = json!(0));
}

/// Events that take twice their triggers.
pub fn counts_twice(document: &mut Value) {
    for event in list(document, "all_events") {
        if let (Some(900), Some(count)) = (event["event_type"].as_i64(), event["num_triggers"].as_i64()) {
            event["num_triggers"] = json!(2 * count);
        }
    }
}

/// The tasks of the last event wait for nothing.
pub fn last_is_free(document: &mut Value) {
    let events = document["all_events"].as_array().map_or(0, Vec::len);
    let Some(last) = (2..events).rev().find(|&e| document["all_events"][e]["first_task_id"] != 0) else {
        return;
    };
    let event = &mut document["all_events"][last];
    let range = (event["first_task_id"].as_i64().unwrap_or(0), event["last_task_id"].as_i64().unwrap_or(0));
    event["first_task_id"] = json!(0);
    event["last_task_id"] = json!(0);
    for t in range.0..range.1 {
        document["all_tasks"][t as usize]["dependent_event"] = json!(EVENT_INVALID);
        if let Some(first) = document["first_tasks"].as_array_mut() {
            first.push(json!(t));
        }
    }
}

/// All tasks but the last.
pub fn loses_task(document: &mut Value) {
    if let Some(tasks) = document["all_tasks"].as_array_mut() {
        tasks.pop();
    }
}
