//! From a program to a task graph (clause TGR-19).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

use megakernel_ir::model::{Buffer, Program, Task};
use megakernel_ir::rule::Class;
use megakernel_ir::{BufferId, CounterId, Layout, Opcode, Param, TaskId, write_record};
use megakernel_task_graph::{EVENT_INVALID, MAX_INPUTS, NULL_TENSOR, read_task_graph};
use serde_json::{Value, json};

use super::Refusal;
use super::elements::code;
use megakernel_reference::opcodes::{self, Operands, Problems};
use megakernel_reference::region::Region;
use megakernel_reference::validate::{Classes, validate_program};

/// What the types of tasks begin at whose opcode no type of the runtime is.
const OPCODE_TYPES: i64 = 1000;

/// What a task waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A counter of the program.
    Counter(CounterId),
    /// All of these counters; relays pass on the news of each.
    Join(Vec<CounterId>),
}

/// A task of the graph.
#[derive(Clone, Debug)]
struct Unit {
    /// The task of the program; nothing for a relay.
    task: Option<TaskId>,
    dependent: Option<Event>,
    /// Nothing for the end.
    trigger: Option<Event>,
}

/// Exports a program as the task graph of rank 0, with the same happens-before.
///
/// # Errors
/// What the format has no room for: waits with different thresholds on one counter, a cycle, more than 7 inputs, operands
/// whose shape their opcode does not take, elements that begin within a byte. And a program that breaks an S rule.
pub fn export(program: &Program<'_>) -> Result<String, Vec<Refusal>> {
    let verdict = validate_program(program, Classes::of(&[Class::STRUCTURE]));
    let broken: Vec<Refusal> = verdict
        .diagnostics
        .iter()
        .filter(|found| found.is_error())
        .map(|found| {
            refusal(
                found.pointer.to_string(),
                format!("{} {}: {}", found.rule, found.rule.slug(), found.message),
            )
        })
        .collect();
    if !broken.is_empty() {
        return Err(broken);
    }
    if program.tasks.is_empty() {
        return Err(vec![refusal(
            "/tasks".into(),
            "there is no task, and a task graph ends when one has finished".into(),
        )]);
    }
    let thresholds = thresholds(program)?;
    let waits = reduced(program, &thresholds);
    let units = ordered(units(program, &waits), &thresholds).ok_or_else(|| {
        vec![refusal("/tasks".into(), "the waits form a cycle; see rules D03 and D04".into())]
    })?;
    document(program, &units, &thresholds)
}

fn refusal(pointer: String, reason: String) -> Refusal {
    Refusal { pointer, rank: 0, reason }
}

/// What waits on each counter ask for.
fn thresholds(program: &Program<'_>) -> Result<BTreeMap<CounterId, i64>, Vec<Refusal>> {
    let mut thresholds = BTreeMap::new();
    let mut refusals = Vec::new();
    for (number, task) in program.tasks.iter().enumerate() {
        for (position, wait) in task.waits.iter().enumerate() {
            let known = *thresholds.entry(CounterId::stated(wait.counter)).or_insert(wait.threshold);
            if known != wait.threshold {
                refusals.push(refusal(
                    format!("/tasks/{number}/waits/{position}"),
                    format!(
                        "waits for {} on counter {}, and another wait for {known}; an event has one threshold",
                        wait.threshold, wait.counter
                    ),
                ));
            }
        }
    }
    if refusals.is_empty() { Ok(thresholds) } else { Err(refusals) }
}

/// What each task has to wait for: without counters that another of its counters implies. That holds of all-joins alone,
/// so one partial wait leaves all as it is.
fn reduced(program: &Program<'_>, thresholds: &BTreeMap<CounterId, i64>) -> Vec<BTreeSet<CounterId>> {
    let mut producers: HashMap<CounterId, i64> = HashMap::new();
    let mut after: HashMap<CounterId, BTreeSet<CounterId>> = HashMap::new();
    for task in &program.tasks {
        *producers.entry(CounterId::stated(task.out_counter)).or_default() += 1;
        for wait in &task.waits {
            after
                .entry(CounterId::stated(wait.counter))
                .or_default()
                .insert(CounterId::stated(task.out_counter));
        }
    }
    let are_joins = thresholds.iter().all(|(counter, threshold)| producers.get(counter) == Some(threshold));
    // Whether reaching one of the counters means that `from` is reached.
    let implies = |set: &BTreeSet<CounterId>, from: CounterId| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<CounterId> = vec![from];
        while let Some(counter) = next.pop() {
            for &later in after.get(&counter).into_iter().flatten() {
                if later != from && set.contains(&later) {
                    return true;
                }
                if seen.insert(later) {
                    next.push(later);
                }
            }
        }
        false
    };
    let mut known: HashMap<BTreeSet<CounterId>, BTreeSet<CounterId>> = HashMap::new();
    let of = |task: &Task<'_>| {
        let all: BTreeSet<CounterId> =
            task.waits.iter().map(|wait| CounterId::stated(wait.counter)).collect();
        if all.len() < 2 || !are_joins {
            return all;
        }
        let kept = known
            .entry(all.clone())
            .or_insert_with(|| all.iter().copied().filter(|&counter| !implies(&all, counter)).collect());
        // On a cycle each would imply the other.
        if kept.is_empty() { all } else { kept.clone() }
    };
    program.tasks.iter().map(of).collect()
}

fn units(program: &Program<'_>, waits: &[BTreeSet<CounterId>]) -> Vec<Unit> {
    let waited: BTreeSet<CounterId> = waits.iter().flatten().copied().collect();
    let mut units = Vec::new();
    let mut joins = BTreeSet::new();
    for ((id, task), counters) in program.tasks_by_id().zip(waits) {
        let counters: Vec<CounterId> = counters.iter().copied().collect();
        let dependent = match &counters[..] {
            [] => None,
            [counter] => Some(Event::Counter(*counter)),
            _ => {
                joins.insert(counters.clone());
                Some(Event::Join(counters))
            }
        };
        let out = CounterId::stated(task.out_counter);
        let trigger = waited.contains(&out).then_some(Event::Counter(out));
        units.push(Unit { task: Some(id), dependent, trigger });
    }
    for counters in joins {
        for &counter in &counters {
            let trigger = Some(Event::Join(counters.clone()));
            units.push(Unit { task: None, dependent: Some(Event::Counter(counter)), trigger });
        }
    }
    units
}

/// The tasks in an order in which all that wait for one event stand together, after those that trigger it; nothing if
/// there is none. Among events that could come next, the one whose tasks stand first in the program does.
fn ordered(units: Vec<Unit>, thresholds: &BTreeMap<CounterId, i64>) -> Option<Vec<Unit>> {
    let count = units.len();
    let mut groups: BTreeMap<Option<Event>, Vec<Unit>> = BTreeMap::new();
    // How many groups an event still needs: those that its triggers stand in.
    let mut missing: BTreeMap<Event, usize> = BTreeMap::new();
    let mut edges: BTreeSet<(Option<Event>, Event)> = BTreeSet::new();
    for counter in thresholds.keys() {
        missing.insert(Event::Counter(*counter), 0);
    }
    for unit in units {
        if let Some(trigger) = &unit.trigger {
            edges.insert((unit.dependent.clone(), trigger.clone()));
        }
        groups.entry(unit.dependent.clone()).or_default().push(unit);
    }
    for event in groups.keys().flatten() {
        missing.entry(event.clone()).or_default();
    }
    for (_, event) in &edges {
        *missing.entry(event.clone()).or_default() += 1;
    }
    let first = |event: &Event, groups: &BTreeMap<Option<Event>, Vec<Unit>>| {
        let group = groups.get(&Some(event.clone()));
        group.and_then(|units| units.iter().filter_map(|unit| unit.task).min()).unwrap_or_default()
    };
    let mut next: BinaryHeap<Reverse<(TaskId, Option<Event>)>> = BinaryHeap::new();
    let free: Vec<Event> =
        missing.iter().filter(|(_, left)| **left == 0).map(|(event, _)| event.clone()).collect();
    for event in free {
        next.push(Reverse((first(&event, &groups), Some(event))));
    }
    next.push(Reverse((TaskId::at(0), None)));
    let mut sorted = groups.remove(&None).unwrap_or_default();
    let mut done = BTreeSet::new();
    while let Some(Reverse((_, event))) = next.pop() {
        if !done.insert(event.clone()) {
            continue;
        }
        if event.is_some() {
            sorted.extend(groups.remove(&event).unwrap_or_default());
        }
        let low = (event.clone(), Event::Counter(CounterId::at(0)));
        for (_, later) in edges.range(low..).take_while(|(from, _)| *from == event) {
            if let Some(left) = missing.get_mut(later) {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    next.push(Reverse((first(later, &groups), Some(later.clone()))));
                }
            }
        }
    }
    (sorted.len() == count).then_some(sorted)
}

fn document(
    program: &Program<'_>,
    units: &[Unit],
    thresholds: &BTreeMap<CounterId, i64>,
) -> Result<String, Vec<Refusal>> {
    let events: BTreeSet<Event> =
        units.iter().flat_map(|unit| [unit.dependent.clone(), unit.trigger.clone()]).flatten().collect();
    let positions: BTreeMap<&Event, usize> =
        events.iter().enumerate().map(|(number, event)| (event, number + 2)).collect();
    let end = events.len() + 2;
    let storages = storages(program);
    let mut refusals = Vec::new();
    let mut tasks = vec![
        json!({"task_type": 0, "variant_id": 0, "inputs": null, "outputs": null,
               "trigger_event": EVENT_INVALID, "dependent_event": EVENT_INVALID}),
        json!({"task_type": 10, "variant_id": 0, "inputs": null, "outputs": null,
               "trigger_event": 1, "dependent_event": EVENT_INVALID}),
    ];
    let mut first_tasks = Vec::new();
    let mut ranges: BTreeMap<&Event, (usize, usize)> = BTreeMap::new();
    let mut ends = 0;
    for unit in units {
        let id = tasks.len();
        let dependent = match &unit.dependent {
            Some(event) => {
                ranges.entry(event).or_insert((id, id)).1 = id + 1;
                json!(positions.get(event))
            }
            None => {
                first_tasks.push(id);
                json!(EVENT_INVALID)
            }
        };
        let trigger = unit.trigger.as_ref().and_then(|event| positions.get(event)).copied();
        ends += usize::from(trigger.is_none());
        let (task_type, inputs, outputs) =
            match unit.task.and_then(|number| Some((number, program.tasks.get(number.index())?))) {
                Some((number, task)) => match tiles(program, number, task, &storages) {
                    Ok((inputs, outputs)) => (task_type(program, task), inputs, outputs),
                    Err(refusal) => {
                        refusals.push(refusal);
                        continue;
                    }
                },
                None => (OPCODE_TYPES, Value::Null, Value::Null),
            };
        tasks.push(json!({
            "task_type": task_type, "variant_id": 0, "inputs": inputs, "outputs": outputs,
            "trigger_event": trigger.unwrap_or(end), "dependent_event": dependent,
        }));
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let mut listed = vec![
        json!({"event_type": 911, "num_triggers": 1, "first_task_id": 0, "last_task_id": 0}),
        json!({"event_type": 903, "num_triggers": 1, "first_task_id": 2, "last_task_id": tasks.len()}),
    ];
    for event in &events {
        let triggers = match event {
            Event::Counter(counter) => thresholds.get(counter).copied().unwrap_or(0),
            Event::Join(counters) => counters.len() as i64,
        };
        let (low, high) = ranges.get(event).copied().unwrap_or_default();
        listed.push(
            json!({"event_type": 900, "num_triggers": triggers, "first_task_id": low, "last_task_id": high}),
        );
    }
    listed.push(json!({"event_type": 910, "num_triggers": ends, "first_task_id": 0, "last_task_id": 0}));
    let text = json!({"all_events": listed, "all_tasks": tasks, "first_tasks": first_tasks}).to_string();
    // Through the model, so that members stand in its order.
    let graph = read_task_graph(text.as_bytes()).map_err(|found| {
        found.iter().map(|found| refusal(String::new(), found.message.to_string())).collect::<Vec<_>>()
    })?;
    Ok(write_record(&graph, Layout::Compact))
}

/// The type of the runtime that does the same as the opcode with these operands, or the opcode's own.
fn task_type(program: &Program<'_>, task: &Task<'_>) -> i64 {
    let is_row = |id: Option<&i64>| {
        id.and_then(|&id| program.buffers.get(BufferId::stated(id).index()))
            .is_some_and(|buffer| buffer.shape.len() == 1)
    };
    match (task.op, task.inputs.len()) {
        (Opcode::Embed, _) => 101,
        (Opcode::RmsNorm, _) => 119,
        (Opcode::SampleArgmax, _) => 109,
        (Opcode::GemvTile, 2) if task.params.get(Param::QDType).is_none() => 120,
        (Opcode::GemvTile, 3)
            if task.params.get(Param::QDType).is_none()
                && is_row(task.inputs.get(2))
                && is_row(task.outputs.first()) =>
        {
            108
        }
        (op, _) => OPCODE_TYPES + i64::from(op.code()),
    }
}

/// The name of the storage of each buffer: its own, or that of its page.
fn storages(program: &Program<'_>) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for buffer in &program.buffers {
        *counts.entry(&buffer.name).or_default() += 1;
    }
    let pages: HashMap<BufferId, i64> = program
        .pages
        .iter()
        .flat_map(|pages| {
            pages.buffer_to_page.0.iter().map(|&(buffer, page)| (BufferId::stated(buffer), page))
        })
        .collect();
    let mut taken: BTreeSet<String> = program.buffers.iter().map(|buffer| buffer.name.to_string()).collect();
    let mut of_page: HashMap<i64, String> = HashMap::new();
    let mut unique = |plain: String, number: String| {
        let mut name = plain;
        while !taken.insert(name.clone()) {
            name = format!("{name}#{number}");
        }
        name
    };
    let mut names = Vec::new();
    for (id, buffer) in program.buffers_by_id() {
        names.push(match pages.get(&id) {
            Some(&page) => of_page
                .entry(page)
                .or_insert_with(|| unique(format!("page {page}"), page.to_string()))
                .clone(),
            None if counts.get(&*buffer.name) == Some(&1)
                && &*buffer.name != NULL_TENSOR
                && !buffer.name.is_empty() =>
            {
                buffer.name.to_string()
            }
            None => unique(format!("{}#{id}", buffer.name), id.to_string()),
        });
    }
    names
}

/// The tiles of a task: what its opcode reads of each input and writes of each output (clause EXE-04).
fn tiles(
    program: &Program<'_>,
    id: TaskId,
    task: &Task<'_>,
    storages: &[String],
) -> Result<(Value, Value), Refusal> {
    let place = format!("/tasks/{id}");
    if task.inputs.len() > MAX_INPUTS {
        let reason = format!("has {} inputs; a task of a graph has room for {MAX_INPUTS}", task.inputs.len());
        return Err(refusal(format!("{place}/inputs"), reason));
    }
    let operands = Operands::new(program, task);
    let op = opcodes::op(task.op);
    let mut problems = Problems::new();
    op.shapes(&operands, &mut problems);
    if let Some(problem) = problems.first() {
        return Err(refusal(place, format!("{} {}: {}", problem.rule, problem.rule.slug(), problem.message)));
    }
    let list = |member: &str,
                buffers: &[&Buffer<'_>],
                ids: &[i64],
                region: &dyn Fn(usize) -> Option<Region>| {
        let mut tiles = Vec::new();
        for (position, (buffer, &id)) in buffers.iter().zip(ids).enumerate() {
            let storage = storages.get(BufferId::stated(id).index()).map_or("", String::as_str);
            match region(position).filter(|region| !region.is_empty()) {
                Some(region) => tiles.push(tile(buffer, storage, &region).map_err(|reason| {
                    refusal(format!("{place}/{member}/{position}"), reason)
                })?),
                None => tiles.push(json!({"base_ptr": NULL_TENSOR, "data_type": 999, "dims": [], "offset": 0, "strides": []})),
            }
        }
        Ok(if tiles.is_empty() { Value::Null } else { Value::Array(tiles) })
    };
    Ok((
        list("inputs", &operands.inputs, &task.inputs, &|position| op.reads(&operands, position))?,
        list("outputs", &operands.outputs, &task.outputs, &|position| op.writes(&operands, position))?,
    ))
}

fn tile(buffer: &Buffer<'_>, storage: &str, region: &Region) -> Result<Value, String> {
    let shape: &[i64] = if buffer.shape.is_empty() { &[1] } else { &buffer.shape };
    let mut strides = vec![1i64; shape.len()];
    let mut stride = 1i64;
    for (slot, extent) in strides.iter_mut().zip(shape).rev() {
        *slot = stride;
        stride = stride.saturating_mul(*extent);
    }
    let axes = region.axes();
    let dims: Vec<i64> = axes.iter().take(shape.len()).map(|[low, high]| high - low).collect();
    let first: i64 = axes.iter().zip(&strides).map(|([low, _], stride)| low.saturating_mul(*stride)).sum();
    let bits = i64::from(buffer.dtype.bits());
    if bits < 8 && first % (8 / bits) != 0 {
        return Err(format!("begins at element {first} of {bits} bits, which is within a byte"));
    }
    let offset = if bits >= 8 { first * (bits / 8) } else { first / (8 / bits) };
    Ok(
        json!({"base_ptr": storage, "data_type": code(buffer.dtype), "dims": dims, "offset": offset, "strides": strides}),
    )
}
