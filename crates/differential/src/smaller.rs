//! Smaller samples, by steps that know programs and by steps that know nothing but JSON.

use std::collections::BTreeSet;

use megakernel_conformance::oracle::Expected;
use megakernel_corpus::builder::DType;
use megakernel_corpus::oracle::Launch;
use megakernel_ir::diagnostic::pointer_token;
use megakernel_ir::protocol::Accumulator;
use megakernel_numerics::{Tensor, encode, pack};
use serde_json::{Value, json};

use crate::edit::{self, number, put};
use crate::extents;
use crate::reference::Reference;
use crate::sample::{Bound, Sample, Tensors, bound};

/// The most single elements that are tried one by one.
const SINGLES: usize = 48;

/// One kind of step: the samples that it leads to.
pub type Step = fn(&Sample, &dyn Reference) -> Vec<Sample>;

/// The steps, those that take most away first.
pub const STEPS: [Step; 10] = [text, launches, tasks, known, members, items, sizes, buffers, scalars, values];

/// What a sample weighs: tasks and launches, the length of its text, its elements, and how many are neither 0 nor 1.
pub fn weight(sample: &Sample) -> (usize, usize, usize, u64, usize) {
    let value = sample.value();
    let tasks = value.as_ref().map_or(0, |value| value["tasks"].as_array().map_or(0, Vec::len));
    let elements = value.as_ref().map_or(0, extents::elements);
    // Every dtype but the plainest is a difficulty more.
    let narrow = value.iter().flat_map(|value| value["buffers"].as_array()).flatten();
    let narrow = narrow.filter(|buffer| buffer["dtype"] != "F32").count();
    let odd: usize = sample.launches.iter().flat_map(Tensors::values).map(odd).sum();
    (tasks, sample.launches.len(), sample.document.len() + 4 * narrow, elements, odd)
}

/// How many elements are neither 0 nor 1.
fn odd(tensor: &Tensor) -> usize {
    let one = one(tensor.dtype);
    tensor.elements().into_iter().filter(|bits| *bits != 0 && *bits != one).count()
}

fn one(dtype: DType) -> u32 {
    if dtype.is_float() { encode(dtype, 1.0) } else { 1 }
}

/// A document that is no JSON, without a part of its text.
fn text(sample: &Sample, _: &dyn Reference) -> Vec<Sample> {
    let (None, Ok(text)) = (sample.value(), std::str::from_utf8(&sample.document)) else { return Vec::new() };
    let characters: Vec<char> = text.chars().collect();
    // Of long ones larger parts only: each candidate is a copy.
    chunks(characters.len())
        .filter(|(from, to)| characters.len() <= 1024 || (to - from) * 64 >= characters.len())
        .map(|(from, to)| {
            let rest = characters.iter().take(from).chain(characters.iter().skip(to));
            sample.with(rest.collect::<String>())
        })
        .collect()
}

fn launches(sample: &Sample, _: &dyn Reference) -> Vec<Sample> {
    let count = if sample.launches.len() > 1 { sample.launches.len() } else { 0 };
    let without = |index: usize| {
        let mut fewer = sample.clone();
        fewer.launches.remove(index);
        fewer
    };
    (0..count).map(without).collect()
}

/// Without some tasks, and without what only they used: a run of them, or those that write one buffer. Those who waited for them wait for
/// what they waited for, or do not. What they wrote is an input then, and what they read an output, where nothing else will do.
fn tasks(sample: &Sample, reference: &dyn Reference) -> Vec<Sample> {
    let Some(value) = sample.value() else { return Vec::new() };
    let sample = &with_written(sample, &value, reference);
    let all = value["tasks"].as_array().cloned().unwrap_or_default();
    let mut groups: Vec<Vec<usize>> = chunks(all.len()).map(|(from, to)| (from..to).collect()).collect();
    for task in &all {
        let group = all.iter().enumerate().filter(|(_, other)| other["outputs"] == task["outputs"]);
        let group: Vec<usize> = group.map(|(index, _)| index).collect();
        if group.len() > 1 && !groups.contains(&group) {
            groups.push(group);
        }
    }
    let mut fewer = Vec::new();
    let ways = [(false, false), (true, false), (false, true), (true, true)];
    for (way, group) in ways.iter().flat_map(|way| groups.iter().map(move |group| (way, group))) {
        let severed = cut(&value, group, *way);
        fewer.extend(without_tasks(&severed, group));
        fewer.extend(without_tasks(&bridge(&severed, group), group));
    }
    fewer.into_iter().chain(without_tasks(&value, &[])).map(|value| of(sample, &value)).collect()
}

/// The sample with what tasks write among the tensors, where the reference can say it: what becomes an input holds that.
fn with_written(sample: &Sample, value: &Value, reference: &dyn Reference) -> Sample {
    let mut all = sample.clone();
    let mut shown = value.clone();
    for buffer in
        edit::items(&mut shown, "buffers").iter_mut().filter(|buffer| buffer["kind"] == "ACTIVATION")
    {
        put(buffer, "kind", json!("IO_OUTPUT"));
    }
    let document = shown.to_string().into_bytes();
    let launch = |tensors: &Tensors| Launch { document: document.clone(), tensors: tensors.clone() };
    let launches: Vec<Launch> = sample.launches.iter().map(launch).collect();
    let outputs =
        if launches.is_empty() { None } else { reference.run(&launches, Accumulator::Binary32).ok() };
    for (launch, outputs) in all.launches.iter_mut().zip(outputs.into_iter().flatten()) {
        for buffer in value["buffers"].as_array().into_iter().flatten() {
            let dtype = buffer["dtype"].as_str().and_then(DType::from_name);
            let shape = buffer["shape"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
            let (Some(name), Some(dtype)) = (buffer["name"].as_str(), dtype) else { continue };
            let tensor = match outputs.get(name) {
                Some(Expected::Reals { values, .. }) => Tensor::from_reals(dtype, shape, values),
                Some(Expected::Ints(values)) => Tensor::from_ints(dtype, shape, values),
                None => continue,
            };
            if let Ok(tensor) = tensor {
                launch.entry(name.to_owned()).or_insert(tensor);
            }
        }
    }
    all
}

/// Those who wait for a task wait for what it waits for as well, so that it can go.
fn bridge(program: &Value, gone: &[usize]) -> Value {
    let mut bridged = program.clone();
    for task in gone.iter().rev().map(|index| &program["tasks"][*index]) {
        let own = task["waits"].as_array().cloned().unwrap_or_default();
        let all = edit::items(&mut bridged, "tasks").iter_mut().filter_map(|task| task.get_mut("waits"));
        for waits in all.filter_map(Value::as_array_mut) {
            if waits.iter().any(|wait| wait["counter"] == task["out_counter"]) {
                waits.extend(own.iter().cloned());
            }
        }
    }
    bridged
}

/// What tasks write becomes an input, what they read an output, or both: then they can go.
fn cut(program: &Value, gone: &[usize], (writes, reads): (bool, bool)) -> Value {
    let mut cut = program.clone();
    let mut turn = |task: &Value, list: &str, kind: &str| {
        for id in task[list].as_array().into_iter().flatten().filter_map(Value::as_u64) {
            if let Some(buffer) = edit::items(&mut cut, "buffers").get_mut(id as usize)
                && buffer["kind"] == "ACTIVATION"
            {
                put(buffer, "kind", json!(kind));
            }
        }
    };
    for task in gone.iter().map(|index| &program["tasks"][*index]) {
        if writes {
            turn(task, "outputs", "IO_INPUT");
        }
        if reads {
            turn(task, "inputs", "IO_OUTPUT");
        }
    }
    cut
}

/// Steps that the reference knows for this kind of documents.
fn known(sample: &Sample, reference: &dyn Reference) -> Vec<Sample> {
    let smaller = reference.smaller(sample.profile, &sample.document);
    smaller.into_iter().map(|text| refit(sample.with(text))).collect()
}

/// Without the members of one name, everywhere; then in one place.
fn members(sample: &Sample, _: &dyn Reference) -> Vec<Sample> {
    let Some(value) = sample.value() else { return Vec::new() };
    let mut names = BTreeSet::new();
    let mut places = Vec::new();
    visit(&value, "", &mut |pointer, value| {
        if let Value::Object(members) = value {
            names.extend(members.keys().cloned());
            places.extend(members.keys().map(|key| (pointer.to_owned(), key.clone())));
        }
    });
    let everywhere = names.iter().map(|name| {
        let mut less = value.clone();
        strip(&mut less, name);
        less
    });
    let once = places.iter().map(|(pointer, key)| {
        let mut less = value.clone();
        if let Some(Value::Object(members)) = less.pointer_mut(pointer) {
            members.shift_remove(key);
        }
        less
    });
    everywhere.chain(once).map(|value| of(sample, &value)).collect()
}

/// Without a run of elements of a list, with ids as they stand and with ids that are indices again.
fn items(sample: &Sample, _: &dyn Reference) -> Vec<Sample> {
    let Some(value) = sample.value() else { return Vec::new() };
    let mut lists = Vec::new();
    visit(&value, "", &mut |pointer, value| {
        if let Value::Array(items) = value {
            lists.push((pointer.to_owned(), items.len()));
        }
    });
    let mut all = Vec::new();
    for (pointer, count) in lists {
        for (from, to) in chunks(count) {
            let mut less = value.clone();
            if let Some(Value::Array(items)) = less.pointer_mut(&pointer) {
                items.drain(from..to);
            }
            let mut numbered = less.clone();
            number(&mut numbered);
            if numbered != less {
                all.push(of(sample, &numbered));
            }
            all.push(of(sample, &less));
        }
    }
    all
}

/// Smaller extents.
fn sizes(sample: &Sample, _: &dyn Reference) -> Vec<Sample> {
    let Some(value) = sample.value() else { return Vec::new() };
    let mut all = Vec::new();
    for old in extents::all(&value).into_iter().rev().filter(|old| *old > 1) {
        let news: BTreeSet<u64> = [1, 2, 3, old / 4, old / 2, old - old / 4, old - 1].into();
        for new in news.into_iter().filter(|new| *new > 0 && *new < old) {
            let mut less = value.clone();
            extents::replace(&mut less, old, new);
            all.push(of(sample, &less));
        }
    }
    all
}

/// Plainer buffers: F32, fewer axes, smaller alone.
fn buffers(sample: &Sample, _: &dyn Reference) -> Vec<Sample> {
    let Some(value) = sample.value() else { return Vec::new() };
    let mut all = Vec::new();
    for index in 0..value["buffers"].as_array().map_or(0, Vec::len) {
        let mut with = |member: &str, new: Value| {
            let mut less = value.clone();
            if let Some(buffer) = edit::items(&mut less, "buffers").get_mut(index) {
                put(buffer, member, new);
            }
            all.push(of(sample, &less));
        };
        let shape = value["buffers"][index]["shape"].as_array().cloned().unwrap_or_default();
        with("dtype", json!("F32"));
        with("shape", json!([extents::numel(&json!(shape))]));
        with("shape", shape.iter().filter(|extent| **extent != 1).cloned().collect());
        for axis in 0..shape.len() {
            let mut smaller = shape.clone();
            smaller[axis] = json!(1);
            with("shape", json!(smaller));
        }
    }
    all
}

/// Smaller numbers, shorter texts.
fn scalars(sample: &Sample, _: &dyn Reference) -> Vec<Sample> {
    let Some(value) = sample.value() else { return Vec::new() };
    let mut all = Vec::new();
    visit(&value, "", &mut |pointer, scalar| {
        let smaller: Vec<Value> = match scalar {
            Value::Number(number) => match number.as_i64() {
                Some(now) => [0, 1, now / 2]
                    .into_iter()
                    .filter(|new| new.unsigned_abs() < now.unsigned_abs())
                    .map(Value::from)
                    .collect(),
                None => vec![json!(0.5), json!(0)],
            },
            Value::String(text) if !text.is_empty() => vec![json!(""), json!("x")],
            _ => Vec::new(),
        };
        for new in smaller {
            let mut less = value.clone();
            if let Some(place) = less.pointer_mut(pointer) {
                *place = new;
            }
            all.push(of(sample, &less));
        }
    });
    all
}

/// Tensors of zeros and ones: as a whole, in parts, and of the last few other elements each one.
fn values(sample: &Sample, _: &dyn Reference) -> Vec<Sample> {
    let mut all = Vec::new();
    for (launch, tensors) in sample.launches.iter().enumerate() {
        for (name, tensor) in tensors {
            let one = one(tensor.dtype);
            let elements = tensor.elements();
            let odd: Vec<usize> = (0..elements.len())
                .filter(|index| elements.get(*index).is_some_and(|bits| *bits != 0 && *bits != one))
                .collect();
            if odd.is_empty() {
                continue;
            }
            let parts =
                chunks(odd.len()).filter(|(from, to)| odd.len() <= SINGLES || (to - from) * 16 >= odd.len());
            for (from, to) in parts {
                for fill in [0, one] {
                    let mut plain = elements.clone();
                    for index in odd.get(from..to).unwrap_or_default() {
                        plain.get_mut(*index).into_iter().for_each(|bits| *bits = fill);
                    }
                    let mut less = sample.clone();
                    if let Some(tensor) =
                        less.launches.get_mut(launch).and_then(|tensors| tensors.get_mut(name))
                    {
                        tensor.bytes = pack(tensor.dtype, plain);
                    }
                    all.push(less);
                }
            }
        }
    }
    all
}

/// The runs of a list of so many elements: the whole, halves, quarters, and so on to single ones, from the end on.
fn chunks(count: usize) -> impl Iterator<Item = (usize, usize)> {
    let sizes = std::iter::successors(Some(count), |size| (*size > 1).then(|| size.div_ceil(2)));
    sizes.filter(|size| *size > 0).flat_map(move |size| {
        (0..count.div_ceil(size)).rev().map(move |part| (part * size, ((part + 1) * size).min(count)))
    })
}

/// The sample with another document, and tensors that fit it.
fn of(sample: &Sample, value: &Value) -> Sample {
    refit(sample.with(value.to_string()))
}

/// Gives each buffer that is still bound as many elements as it has now: those that it had, from the first on, and again.
fn refit(mut sample: Sample) -> Sample {
    if sample.launches.is_empty() {
        return sample;
    }
    let value = sample.value().unwrap_or_default();
    for (index, launch) in sample.launches.iter_mut().enumerate() {
        let fit = |Bound { name, dtype, shape }: Bound| {
            let tensor = match launch.get(&name) {
                Some(tensor) => fitted(tensor, dtype, shape),
                // What a task wrote before.
                None => ones(dtype, shape),
            };
            tensor.map(|tensor| (name, tensor))
        };
        let kept = bound(&value, index == 0).into_iter().filter_map(fit).collect();
        *launch = kept;
    }
    sample
}

/// The number of elements of a shape; none if nobody would hold so many.
fn elements(shape: &[u64]) -> Option<usize> {
    let count = shape.iter().try_fold(1_u64, |product, extent| product.checked_mul(*extent))?;
    usize::try_from(count).ok().filter(|count| *count <= 1 << 24)
}

fn ones(dtype: DType, shape: Vec<u64>) -> Option<Tensor> {
    let count = elements(&shape)?;
    Tensor::new(dtype, shape, pack(dtype, std::iter::repeat_n(one(dtype), count))).ok()
}

fn fitted(tensor: &Tensor, dtype: DType, shape: Vec<u64>) -> Option<Tensor> {
    if tensor.dtype == dtype && tensor.shape == shape {
        return Some(tensor.clone());
    }
    let count = elements(&shape)?;
    let bits: Vec<u32> = match tensor.dtype == dtype {
        true => tensor.elements(),
        false if dtype.is_float() && tensor.dtype.is_float() => {
            tensor.reals().into_iter().map(|value| encode(dtype, value)).collect()
        }
        false => return None,
    };
    Tensor::new(dtype, shape, pack(dtype, bits.into_iter().cycle().take(count))).ok()
}

/// Calls `at` with every value and its pointer.
fn visit(value: &Value, pointer: &str, at: &mut dyn FnMut(&str, &Value)) {
    at(pointer, value);
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            visit(value, &format!("{pointer}/{}", pointer_token(key)), at);
        }),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, value)| visit(value, &format!("{pointer}/{index}"), at));
        }
        _ => {}
    }
}

fn strip(value: &mut Value, name: &str) {
    match value {
        Value::Object(members) => {
            members.shift_remove(name);
            members.values_mut().for_each(|value| strip(value, name));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| strip(value, name)),
        _ => {}
    }
}

/// A program without some tasks, with thresholds lowered by the increments that are gone, and without buffers and counters that nobody
/// uses then. Nothing, if the document is no program.
fn without_tasks(program: &Value, gone: &[usize]) -> Option<Value> {
    let mut less = program.clone();
    let tasks = less.get_mut("tasks")?.as_array_mut()?;
    let all = std::mem::take(tasks).into_iter().enumerate();
    let (gone, kept): (Vec<_>, Vec<_>) = all.partition(|(index, _)| gone.contains(index));
    let gone: Vec<Value> = gone.into_iter().map(|(_, task)| task["out_counter"].clone()).collect();
    tasks.extend(kept.into_iter().map(|(_, task)| task));
    for task in tasks.iter_mut() {
        let Some(waits) = task.get_mut("waits").and_then(Value::as_array_mut) else { continue };
        for wait in waits.iter_mut() {
            let fewer = gone.iter().filter(|counter| **counter == wait["counter"]).count() as i64;
            if let Some(threshold) = wait["threshold"].as_i64() {
                put(wait, "threshold", json!(threshold.saturating_sub(fewer)));
            }
        }
        waits.retain(|wait| wait["threshold"].as_i64() != Some(0));
    }
    let used = |less: &Value, kind: &str| -> BTreeSet<u64> {
        let mut used = BTreeSet::new();
        for task in less["tasks"].as_array().into_iter().flatten() {
            if kind == "buffers" {
                let ids =
                    [&task["inputs"], &task["outputs"]].into_iter().filter_map(Value::as_array).flatten();
                used.extend(ids.filter_map(Value::as_u64));
            } else {
                let waits = task["waits"].as_array().into_iter().flatten().map(|wait| &wait["counter"]);
                used.extend(waits.chain([&task["out_counter"]]).filter_map(Value::as_u64));
            }
        }
        used
    };
    for kind in ["counters", "buffers"] {
        let used = used(&less, kind);
        let count = less[kind].as_array().map_or(0, Vec::len) as u64;
        for id in (0..count).rev().filter(|id| !used.contains(id)) {
            less.get_mut(kind)?.as_array_mut()?.remove(usize::try_from(id).ok()?);
            renumber(&mut less, kind, id);
        }
    }
    number(&mut less);
    Some(less)
}

/// Lowers what names a record behind one that is gone.
fn renumber(program: &mut Value, kind: &str, gone: u64) {
    let down = |id: &mut Value| {
        if let Some(now) = id.as_u64().filter(|now| *now > gone) {
            *id = json!(now - 1);
        }
    };
    for task in program.get_mut("tasks").and_then(Value::as_array_mut).into_iter().flatten() {
        if kind == "buffers" {
            for list in ["inputs", "outputs"] {
                task.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten().for_each(down);
            }
        } else {
            task.get_mut("out_counter").into_iter().for_each(down);
            for wait in task.get_mut("waits").and_then(Value::as_array_mut).into_iter().flatten() {
                wait.get_mut("counter").into_iter().for_each(down);
            }
        }
    }
    let pages = program.pointer_mut("/pages/buffer_to_page").and_then(Value::as_object_mut);
    if let (Some(pages), "buffers") = (pages, kind) {
        *pages = std::mem::take(pages)
            .into_iter()
            .filter_map(|(key, page)| match key.parse::<u64>() {
                Ok(id) if id == gone => None,
                Ok(id) if id > gone => Some(((id - 1).to_string(), page)),
                _ => Some((key, page)),
            })
            .collect();
    }
}
