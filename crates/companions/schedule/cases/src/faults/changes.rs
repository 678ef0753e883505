//! How a schedule can be misread.

use serde_json::{Value, json};

fn tasks(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    document.get_mut("tasks").and_then(Value::as_array_mut).into_iter().flatten()
}

/// The phases of all tasks.
pub fn phases(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    tasks(document).filter_map(|task| task.get_mut("phases")?.as_array_mut()).flatten()
}

/// The entries of some lists of all phases.
pub fn entries<'d>(
    document: &'d mut Value,
    lists: &'static [&'static str],
) -> impl Iterator<Item = &'d mut Value> {
    phases(document)
        .filter_map(Value::as_object_mut)
        .flat_map(|phase| phase.iter_mut())
        .filter(|(name, _)| lists.contains(&name.as_str()))
        .filter_map(|(_, list)| list.as_array_mut())
        .flatten()
}

/// Lists of events and numbers.
pub const COUNTS: &[&str] = &["waits", "signals"];
/// Lists of tensors and regions.
pub const ACCESSES: &[&str] = &["reads", "writes", "adds"];

/// Sets a member of an object.
pub fn put(value: &mut Value, member: &str, to: Value) {
    if let Some(members) = value.as_object_mut() {
        members.insert(member.to_owned(), to);
    }
}

fn drop_member(value: &mut Value, member: &str) {
    if let Some(members) = value.as_object_mut() {
        members.remove(member);
    }
}

fn put_at(entry: &mut Value, place: usize, to: Value) {
    if let Some(slot) = entry.get_mut(place) {
        *slot = to;
    }
}

/// Keeps these entries of a list of all phases.
pub fn keep(document: &mut Value, list: &str, keep: impl Fn(usize, usize) -> bool) {
    for list in phases(document).filter_map(|phase| phase.get_mut(list)?.as_array_mut()) {
        let (many, mut place) = (list.len(), 0);
        list.retain(|_| {
            place += 1;
            keep(place - 1, many)
        });
    }
}

pub fn amounts_are_one(document: &mut Value) {
    entries(document, &["signals"]).for_each(|entry| put_at(entry, 1, json!(1)));
}

pub fn counts_are_one(document: &mut Value) {
    entries(document, &["waits"]).for_each(|entry| put_at(entry, 1, json!(1)));
}

pub fn counts_less_one(document: &mut Value) {
    for count in entries(document, &["waits"]).filter_map(|entry| entry.get_mut(1)) {
        *count = json!(count.as_i64().unwrap_or(2).saturating_sub(1).max(1));
    }
}

pub fn counts_and_one(document: &mut Value) {
    for count in entries(document, &["waits"]).filter_map(|entry| entry.get_mut(1)) {
        *count = json!(count.as_i64().unwrap_or(0).saturating_add(1));
    }
}

pub fn first_wait_alone(document: &mut Value) {
    keep(document, "waits", |place, _| place == 0);
}

pub fn last_wait_alone(document: &mut Value) {
    keep(document, "waits", |place, many| place + 1 == many);
}

pub fn first_signal_alone(document: &mut Value) {
    keep(document, "signals", |place, _| place == 0);
}

pub fn last_signal_alone(document: &mut Value) {
    keep(document, "signals", |place, many| place + 1 == many);
}

pub fn first_access_alone(document: &mut Value) {
    ACCESSES.iter().for_each(|list| keep(document, list, |place, _| place == 0));
}

pub fn no_reads(document: &mut Value) {
    keep(document, "reads", |_, _| false);
}

pub fn no_adds(document: &mut Value) {
    keep(document, "adds", |_, _| false);
}

/// Moves the entries of one list behind those of another, without groups.
pub fn taken_for(document: &mut Value, from: &str, to: &str) {
    for phase in phases(document) {
        let Some(moved) = phase.get_mut(from).and_then(Value::as_array_mut).map(std::mem::take) else {
            continue;
        };
        let mut all = phase.get(to).and_then(Value::as_array).cloned().unwrap_or_default();
        all.extend(moved.into_iter().map(|mut entry| {
            entry.as_array_mut().into_iter().for_each(|entry| entry.truncate(2));
            entry
        }));
        put(phase, to, Value::Array(all));
    }
}

pub fn adds_are_writes(document: &mut Value) {
    taken_for(document, "adds", "writes");
}

pub fn adds_are_reads(document: &mut Value) {
    taken_for(document, "adds", "reads");
}

pub fn writes_are_adds(document: &mut Value) {
    taken_for(document, "writes", "adds");
}

pub fn no_groups(document: &mut Value) {
    for entry in entries(document, &["adds"]).filter_map(Value::as_array_mut) {
        entry.truncate(2);
    }
}

pub fn one_group(document: &mut Value) {
    for entry in entries(document, &["adds"]).filter_map(Value::as_array_mut) {
        entry.truncate(2);
        entry.push(json!("all"));
    }
}

/// All phases of a task as one.
pub fn one_phase(document: &mut Value) {
    for task in tasks(document) {
        let Some(phases) = task.get("phases").and_then(Value::as_array).filter(|phases| phases.len() > 1)
        else {
            continue;
        };
        let mut all = json!({});
        for list in ["waits", "reads", "writes", "adds", "signals"] {
            let entries = phases.iter().filter_map(|phase| phase.get(list)?.as_array()).flatten();
            put(&mut all, list, entries.cloned().collect());
        }
        put(task, "phases", json!([all]));
    }
}

/// The entries of a list of all phases of a task in one of its phases.
fn gathered(document: &mut Value, list: &str, in_last: bool) {
    for phases in tasks(document).filter_map(|task| task.get_mut("phases")?.as_array_mut()) {
        let all: Value =
            phases.iter().filter_map(|phase| phase.get(list)?.as_array()).flatten().cloned().collect();
        phases.iter_mut().for_each(|phase| drop_member(phase, list));
        let into = if in_last { phases.last_mut() } else { phases.first_mut() };
        into.into_iter().for_each(|phase| put(phase, list, all.clone()));
    }
}

pub fn waits_at_the_start(document: &mut Value) {
    gathered(document, "waits", false);
}

pub fn signals_at_the_end(document: &mut Value) {
    gathered(document, "signals", true);
}

pub fn signals_at_the_start(document: &mut Value) {
    gathered(document, "signals", false);
}

pub fn first_phase_alone(document: &mut Value) {
    tasks(document)
        .filter_map(|task| task.get_mut("phases")?.as_array_mut())
        .for_each(|phases| phases.truncate(1));
}

pub fn last_phase_alone(document: &mut Value) {
    for phases in tasks(document).filter_map(|task| task.get_mut("phases")?.as_array_mut()) {
        phases.drain(..phases.len().saturating_sub(1));
    }
}

fn regions(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    entries(document, ACCESSES).filter_map(|entry| entry.get_mut(1))
}

pub fn all_of_it(document: &mut Value) {
    regions(document).for_each(|region| *region = Value::Null);
}

pub fn no_runs(document: &mut Value) {
    regions(document).for_each(|region| drop_member(region, "runs"));
}

pub fn first_run_alone(document: &mut Value) {
    for runs in regions(document).filter_map(|region| region.get_mut("runs")?.as_array_mut()) {
        runs.truncate(1);
    }
}

fn run_numbers(document: &mut Value, place: usize, change: fn(i64) -> i64) {
    for run in regions(document).filter_map(|region| region.get_mut("runs")?.as_array_mut()).flatten() {
        let to = run.get(place).and_then(Value::as_i64).map(change);
        to.into_iter().for_each(|to| put_at(run, place, json!(to)));
    }
}

pub fn runs_one_short(document: &mut Value) {
    run_numbers(document, 2, |count| if count > 1 { count - 1 } else { count });
}

pub fn runs_without_step(document: &mut Value) {
    run_numbers(document, 1, |step| step.min(1));
}

pub fn no_shift(document: &mut Value) {
    regions(document).for_each(|region| drop_member(region, "shift"));
}

pub fn shift_of_the_first_axis(document: &mut Value) {
    for shift in regions(document).filter_map(|region| region.get_mut("shift")?.as_array_mut()) {
        shift.iter_mut().skip(1).for_each(|shift| *shift = json!(0));
    }
}

/// The last element of each interval left out.
pub fn closed_intervals(document: &mut Value) {
    for region in regions(document) {
        let bounds = if region.is_array() { Some(region) } else { region.get_mut("box") };
        for interval in bounds.and_then(Value::as_array_mut).into_iter().flatten() {
            let ends = [0, 1].map(|end| interval.get(end).and_then(Value::as_i64));
            if let [Some(low), Some(high)] = ends {
                put_at(interval, 1, json!(if high > low { high - 1 } else { high }));
            }
        }
    }
}

/// The tensors of a document.
pub fn tensors(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    document.get_mut("tensors").and_then(Value::as_object_mut).into_iter().flat_map(|all| all.values_mut())
}

pub fn no_storages(document: &mut Value) {
    tensors(document).for_each(|tensor| drop_member(tensor, "storage"));
}

pub fn no_offsets(document: &mut Value) {
    tensors(document).for_each(|tensor| drop_member(tensor, "offset"));
}

pub fn no_views(document: &mut Value) {
    tensors(document).for_each(|tensor| drop_member(tensor, "view"));
}

pub fn elements_of_a_byte(document: &mut Value) {
    tensors(document).for_each(|tensor| drop_member(tensor, "element"));
}

pub fn nothing_is_filled(document: &mut Value) {
    tensors(document).for_each(|tensor| drop_member(tensor, "init"));
}

pub fn all_is_filled(document: &mut Value) {
    tensors(document).for_each(|tensor| put(tensor, "init", json!(true)));
}

pub fn once_is_always(document: &mut Value) {
    let once = tensors(document).filter(|tensor| tensor.get("init") == Some(&json!("once")));
    once.for_each(|tensor| put(tensor, "init", json!(true)));
}

pub fn all_kinds_alike(document: &mut Value) {
    tensors(document).for_each(|tensor| drop_member(tensor, "kind"));
}

/// Takes tensors of a kind for those of another.
pub fn kind_for(document: &mut Value, from: &str, to: &str) {
    for tensor in tensors(document).filter(|tensor| tensor.get("kind") == Some(&json!(from))) {
        put(tensor, "kind", json!(to));
    }
}

pub fn outputs_are_inputs(document: &mut Value) {
    kind_for(document, "output", "input");
}

pub fn weights_are_caches(document: &mut Value) {
    kind_for(document, "weight", "cache");
}

pub fn caches_are_inputs(document: &mut Value) {
    kind_for(document, "cache", "input");
}

pub fn inputs_are_weights(document: &mut Value) {
    kind_for(document, "input", "weight");
}

pub fn no_periods(document: &mut Value) {
    drop_member(document, "events");
}

pub fn no_queues(document: &mut Value) {
    tasks(document).for_each(|task| drop_member(task, "queue"));
}

pub fn one_queue(document: &mut Value) {
    let queued = tasks(document).filter(|task| task.get("queue").is_some_and(|queue| !queue.is_null()));
    queued.for_each(|task| put(task, "queue", json!(0)));
}

pub fn all_in_a_queue(document: &mut Value) {
    let free = tasks(document).filter(|task| task.get("queue").is_none_or(Value::is_null));
    free.for_each(|task| put(task, "queue", json!(0)));
}

pub fn queues_in_order(document: &mut Value) {
    drop_member(document, "any_order");
}

pub fn queues_in_any_order(document: &mut Value) {
    let queues: Vec<Value> = tasks(document).filter_map(|task| task.get("queue")).cloned().collect();
    put(document, "any_order", Value::Array(queues.into_iter().filter(Value::is_i64).collect()));
}

fn memory(document: &mut Value, member: &str, to: Option<&str>) {
    let mut memory = document.get("memory").cloned().unwrap_or_else(|| json!({}));
    match to {
        Some(to) => put(&mut memory, member, json!(to)),
        None => drop_member(&mut memory, member),
    }
    put(document, "memory", memory);
}

pub fn signals_release(document: &mut Value) {
    memory(document, "signal", None);
}

pub fn waits_acquire(document: &mut Value) {
    memory(document, "wait", None);
}

pub fn queues_order(document: &mut Value) {
    memory(document, "queue", Some("ordered"));
}

pub fn queues_never_order(document: &mut Value) {
    memory(document, "queue", None);
}

fn repeats(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    tasks(document).filter_map(|task| task.get_mut("repeat")).filter(|repeat| repeat.is_object())
}

pub fn no_repetition(document: &mut Value) {
    repeats(document).for_each(|repeat| put(repeat, "times", json!(1)));
}

pub fn one_repetition_short(document: &mut Value) {
    for repeat in repeats(document) {
        let times = repeat.get("times").and_then(Value::as_i64).unwrap_or(1);
        put(repeat, "times", json!(if times > 1 { times - 1 } else { times }));
    }
}

pub fn no_queue_step(document: &mut Value) {
    repeats(document).for_each(|repeat| drop_member(repeat, "queue_step"));
}

pub fn no_queues_of_repetition(document: &mut Value) {
    repeats(document).for_each(|repeat| drop_member(repeat, "queues"));
}

/// Changes the names of events wherever they are waited for and signalled.
pub fn event_names(document: &mut Value, change: fn(&str) -> String) {
    for name in entries(document, COUNTS).filter_map(|entry| entry.get_mut(0)) {
        if let Some(to) = name.as_str().map(change) {
            *name = json!(to);
        }
    }
}

pub fn events_in_small_letters(document: &mut Value) {
    event_names(document, str::to_lowercase);
}

pub fn events_by_first_letter(document: &mut Value) {
    event_names(document, |name| name.chars().take(1).collect());
}

pub fn events_without_numbers(document: &mut Value) {
    event_names(document, |name| name.replace('#', ""));
}

pub fn groups_without_numbers(document: &mut Value) {
    for group in entries(document, &["adds"]).filter_map(|entry| entry.get_mut(2)) {
        if let Some(to) = group.as_str().map(|name| name.replace('#', "")) {
            *group = json!(to);
        }
    }
}

pub fn last_task_left_out(document: &mut Value) {
    document.get_mut("tasks").and_then(Value::as_array_mut).and_then(Vec::pop);
}

pub fn tasks_backwards(document: &mut Value) {
    document.get_mut("tasks").and_then(Value::as_array_mut).into_iter().for_each(|tasks| tasks.reverse());
}
