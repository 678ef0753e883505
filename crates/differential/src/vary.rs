//! Variations of an accepted program that may be accepted too: other extents, ranks, dtypes, kinds, parameters, operands in place,
//! tasks once more, two programs side by side or one after the other. The reference says which of them is a program.

use megakernel_corpus::builder::{DType, FLOATS};
use megakernel_ir::Param;
use megakernel_ir::opcode::InPlace;
use megakernel_ir::params::ParamKind;
use megakernel_ir::prng::SplitMix64;
use serde_json::{Value, json};

use crate::edit::{items, put, put_at};
use crate::extents;

/// The most elements of a program, mostly; now and then ten times as many.
pub const MOST: u64 = 8192;

/// Extents around what blocks, vectors and indices of few bits hold.
const EXTENTS: [u64; 24] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 127, 129, 257, 513, 1027];

/// Varies a program in a few places, as long as it stays accepted. `other` is another program.
pub fn vary(
    program: &mut Value,
    other: &mut dyn FnMut(&mut SplitMix64) -> Option<Value>,
    prng: &mut SplitMix64,
    accepted: &dyn Fn(&Value) -> bool,
) {
    let most = if prng.below(16) == 0 { 10 * MOST } else { MOST };
    for _ in 0..prng.between(2, 7) {
        let mut varied = program.clone();
        step(&mut varied, other, prng);
        if varied != *program && extents::elements(&varied) <= most && accepted(&varied) {
            *program = varied;
        }
    }
}

/// Varies a program in one place, whatever becomes of it.
pub fn step(
    program: &mut Value,
    other: &mut dyn FnMut(&mut SplitMix64) -> Option<Value>,
    prng: &mut SplitMix64,
) {
    match prng.below(20) {
        0..4 => extent(program, prng),
        4..8 => rank(program, prng),
        8..11 => dtype(program, prng),
        11..14 => parameter(program, prng),
        14 | 15 => operand(program, prng),
        16 => kind(program, prng),
        17 => again(program, prng),
        _ => {
            if let Some(other) = other(prng) {
                join(program, &other, prng);
            }
        }
    }
}

/// One record of a list.
fn one<'a>(program: &'a mut Value, name: &str, prng: &mut SplitMix64) -> Option<&'a mut Value> {
    let records = items(program, name);
    let count = records.len();
    if count == 0 { None } else { records.get_mut(prng.index(count)) }
}

fn extent(program: &mut Value, prng: &mut SplitMix64) {
    let all: Vec<u64> = extents::all(program).into_iter().collect();
    if let (Some(&old), Some(&new)) = (prng.pick(&all), prng.pick(&EXTENTS)) {
        extents::replace(program, old, new);
    }
}

/// Axes of extent 1 come and go, axes split and merge: of one buffer, or of all that have its shape.
fn rank(program: &mut Value, prng: &mut SplitMix64) {
    let Some(buffer) = one(program, "buffers", prng) else { return };
    let (id, old) = (buffer["id"].clone(), buffer["shape"].clone());
    let Some(mut shape) = old.as_array().cloned() else { return };
    let at = prng.index(shape.len() + 1);
    match prng.below(6) {
        0 | 1 => shape.insert(at, json!(1)),
        2 => shape.retain(|extent| *extent != 1),
        3 => shape = vec![json!(extents::numel(&old))],
        4 => {
            if let (Some(extent), Some(parts)) =
                (shape.get(at).and_then(Value::as_u64), prng.pick(&[2, 3, 4]).copied())
                && extent % parts == 0
            {
                shape.splice(at..=at, [json!(parts), json!(extent / parts)]);
            }
        }
        _ => {
            if let (Some(a), Some(b)) =
                (shape.get(at).and_then(Value::as_u64), shape.get(at + 1).and_then(Value::as_u64))
            {
                shape.splice(at..at + 2, [json!(a.saturating_mul(b))]);
            }
        }
    }
    let all = prng.below(2) == 0;
    for buffer in items(program, "buffers") {
        if buffer["id"] == id || all && buffer["shape"] == old {
            put(buffer, "shape", json!(shape));
        }
    }
}

fn dtype(program: &mut Value, prng: &mut SplitMix64) {
    let dtypes = if prng.below(4) == 0 { DType::ALL } else { FLOATS };
    let Some(new) = prng.pick(dtypes) else { return };
    let Some(buffer) = one(program, "buffers", prng) else { return };
    let old = buffer["dtype"].clone();
    put(buffer, "dtype", json!(new.name()));
    if prng.below(4) == 0 {
        for buffer in items(program, "buffers").iter_mut().filter(|buffer| buffer["dtype"] == old) {
            put(buffer, "dtype", json!(new.name()));
        }
    }
}

/// A parameter is another, comes, or goes; most opcodes have no use for most of them.
fn parameter(program: &mut Value, prng: &mut SplitMix64) {
    let Some(task) = one(program, "tasks", prng) else { return };
    let Some(params) = task.get_mut("params").and_then(Value::as_object_mut) else { return };
    let own: Vec<Param> = params.keys().filter_map(|key| Param::from_name(key)).collect();
    let known = if prng.below(2) == 0 { prng.pick(&own) } else { prng.pick(Param::ALL) };
    let Some(&param) = known else { return };
    if prng.below(6) == 0 {
        params.shift_remove(param.name());
        return;
    }
    let value = match param.kind() {
        ParamKind::Int => {
            json!(prng.pick(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 64, -1]).copied().unwrap_or_default())
        }
        ParamKind::Float => {
            const TEXTS: [&str; 14] = [
                "0", "1", "2", "0.5", "1e-5", "1e-6", "-1.5", "10000", "500.0", "1e-30", "3e38", "1e-40",
                "0.1", "1e6",
            ];
            let text = prng.pick(&TEXTS).copied().unwrap_or("1");
            serde_json::from_str(text).unwrap_or_default()
        }
    };
    params.insert(param.name().to_owned(), value);
}

/// An input is another buffer, or the output is one of the inputs.
fn operand(program: &mut Value, prng: &mut SplitMix64) {
    let count = items(program, "buffers").len();
    let Some(task) = one(program, "tasks", prng) else { return };
    let inputs = task["inputs"].as_array().cloned().unwrap_or_default();
    if inputs.is_empty() {
        return;
    }
    let (from, to) = (prng.index(inputs.len()), prng.index(inputs.len()));
    match prng.below(3) {
        0 => put_at(task, "inputs", to, json!(prng.index(count))),
        1 => put_at(task, "inputs", to, inputs.get(from).cloned().unwrap_or_default()),
        _ => {
            // In place: the operand becomes a cache, which may be read and written.
            let place =
                task["op"].as_str().and_then(megakernel_ir::Opcode::from_name).map(|op| op.record().in_place);
            let shared = task["outputs"][0].clone();
            if place != Some(InPlace::Forbidden) && shared.is_u64() {
                put_at(task, "inputs", to, shared.clone());
                if let Some(buffer) =
                    items(program, "buffers").iter_mut().find(|buffer| buffer["id"] == shared)
                {
                    put(buffer, "kind", json!("KV_CACHE"));
                    put(buffer, "source", Value::Null);
                }
            }
        }
    }
}

fn kind(program: &mut Value, prng: &mut SplitMix64) {
    let Some(buffer) = one(program, "buffers", prng) else { return };
    let kind = prng.pick(&["WEIGHT", "CONST", "IO_INPUT", "KV_CACHE"]).copied().unwrap_or("WEIGHT");
    put(buffer, "kind", json!(kind));
    let source = format!("{}.w", buffer["name"].as_str().unwrap_or_default());
    put(buffer, "source", if matches!(kind, "WEIGHT" | "CONST") { json!(source) } else { Value::Null });
}

/// A task once more, with an output of its own: other parameters may follow.
fn again(program: &mut Value, prng: &mut SplitMix64) {
    let Some(task) = one(program, "tasks", prng).map(|task| task.clone()) else { return };
    let alone = json!({ "buffers": program["buffers"], "counters": program["counters"], "tasks": [task] });
    let half = items(program, "buffers").len();
    join(program, &alone, prng);
    // The inputs stay the same buffers where they are only read. Programs with pages are not joined.
    let (buffers, tasks) = (items(program, "buffers").len(), items(program, "tasks").len());
    let kinds: Vec<Value> = items(program, "buffers").iter().map(|buffer| buffer["kind"].clone()).collect();
    if let Some(task) = items(program, "tasks").get_mut(tasks - 1)
        && prng.below(2) == 0
        && buffers == 2 * half
    {
        for input in items(task, "inputs") {
            let id = input.as_u64().unwrap_or_default() as usize;
            let only_read =
                kinds.get(id).is_some_and(|kind| kind == "IO_INPUT" || kind == "WEIGHT" || kind == "CONST");
            if only_read && id >= half {
                *input = json!(id - half);
            }
        }
    }
}

/// Puts the tasks of another program behind those of the first. Now and then one of its inputs is what the first one wrote.
fn join(program: &mut Value, other: &Value, prng: &mut SplitMix64) {
    // Two programs cannot share pages. Of a target that the other one has nothing is left.
    if !other["pages"].is_null() || !program["pages"].is_null() {
        return;
    }
    let (buffers, counters, tasks) =
        (items(program, "buffers").len(), items(program, "counters").len(), items(program, "tasks").len());
    let shifted = |id: &Value, by: usize| json!(id.as_u64().unwrap_or_default().saturating_add(by as u64));
    let of = |name: &str| other[name].as_array().cloned().unwrap_or_default();
    let mut new_buffers = of("buffers");
    for buffer in &mut new_buffers {
        let id = shifted(&buffer["id"], buffers);
        put(buffer, "id", id);
        let name = format!("{}.{tasks}", buffer["name"].as_str().unwrap_or_default());
        put(buffer, "name", json!(name));
        if let Some(source) = buffer["source"].as_str().map(|source| format!("{source}.{tasks}")) {
            put(buffer, "source", json!(source));
        }
    }
    let mut new_counters = of("counters");
    for counter in &mut new_counters {
        let id = shifted(&counter["id"], counters);
        put(counter, "id", id);
    }
    let mut new_tasks = of("tasks");
    for (index, task) in new_tasks.iter_mut().enumerate() {
        put(task, "id", json!(tasks + index));
        put(task, "sm", Value::Null);
        let counter = shifted(&task["out_counter"], counters);
        put(task, "out_counter", counter);
        for list in ["inputs", "outputs"] {
            items(task, list).iter_mut().for_each(|id| *id = shifted(id, buffers));
        }
        for wait in items(task, "waits") {
            let counter = shifted(&wait["counter"], counters);
            put(wait, "counter", counter);
        }
    }
    let mut link = None;
    if prng.below(2) == 0 {
        let written: Vec<u64> =
            items(program, "tasks").iter().filter_map(|task| task["outputs"][0].as_u64()).collect();
        link = prng.pick(&written).copied();
    }
    if let Some(from) = link {
        let writers: Vec<Value> = items(program, "tasks")
            .iter()
            .filter(|task| task["outputs"].as_array().is_some_and(|outputs| outputs.contains(&json!(from))))
            .map(|task| task["out_counter"].clone())
            .collect();
        let all: Vec<Value> =
            items(program, "tasks").iter().map(|task| task["out_counter"].clone()).collect();
        let shape = items(program, "buffers").get(from as usize).map(|buffer| buffer["shape"].clone());
        let fits: Vec<u64> = new_buffers
            .iter()
            .filter(|buffer| buffer["kind"] == "IO_INPUT" && Some(&buffer["shape"]) == shape.as_ref())
            .filter_map(|buffer| buffer["id"].as_u64())
            .collect();
        if let Some(&to) = prng.pick(&fits) {
            if let Some(buffer) = items(program, "buffers").get_mut(from as usize)
                && buffer["kind"] == "IO_OUTPUT"
            {
                put(buffer, "kind", json!("ACTIVATION"));
            }
            for task in &mut new_tasks {
                let reads = task["inputs"].as_array().is_some_and(|inputs| inputs.contains(&json!(to)));
                for id in items(task, "inputs").iter_mut().filter(|id| **id == to) {
                    *id = json!(from);
                }
                if let (true, Some(waits)) = (reads, task.get_mut("waits").and_then(Value::as_array_mut)) {
                    let mut counters = writers.clone();
                    counters.dedup();
                    waits.extend(counters.iter().map(|counter| {
                        let producers = all.iter().filter(|other| *other == counter).count();
                        json!({ "counter": counter, "threshold": producers })
                    }));
                }
            }
        }
    }
    for (name, records) in [("buffers", new_buffers), ("counters", new_counters), ("tasks", new_tasks)] {
        if let Some(list) = program.get_mut(name).and_then(Value::as_array_mut) {
            list.extend(records);
        }
    }
}
