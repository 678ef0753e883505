//! From task graphs to a program.

use std::collections::BTreeMap;

use megakernel_ir::model::Program;
use megakernel_ir::rule::Class;
use megakernel_ir::{CounterId, Layout, Rule, read, write};
use megakernel_task_graph::{EventId, KernelGraph, TaskGraph};
use serde_json::{Value, json};

use super::Refusal;
use super::boxes::boxes;
use super::given::Run;
use super::host::Binding;
use super::lower::{Lowered, lower};
use super::operands::plan;
use super::order::{EventIndex, EventRef, Order, TaskRef};
use super::routes::join_routes;
use super::sums::join_sums;
use super::tensors::Tensors;
use super::versions::{join_maxima, versions};
use super::work::Plan;
use megakernel_reference::validate::{Classes, validate_program};

/// What an import is made for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The position of the token: how many the caches hold.
    pub position: i64,
    /// Put all tasks into the queue of SM 0, as one worker would. Descending ids are then a deadlock of the program.
    pub one_queue: bool,
    /// What is known of the run: requests, and the routing of experts.
    pub run: Run,
}

/// A program, and how it stands to its graphs.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The program, as text.
    pub program: String,
    /// What its buffers hold of the graph's tensors.
    pub binding: Binding,
    /// For each of its tasks the rank and the task of the graph that it is a part of.
    pub origin: Vec<(usize, usize)>,
}

/// Imports the task graphs of all ranks of a system, which are those of one kernel graph (clause TGR-18).
///
/// # Errors
/// Every task that has no counterpart, and what is missing; the others have one.
pub fn import(
    graphs: &[&TaskGraph<'_>],
    kernel: &KernelGraph<'_>,
    options: &Options,
) -> Result<Imported, Vec<Refusal>> {
    let all = |reason: String| vec![Refusal { pointer: String::new(), rank: 0, reason }];
    let ranks = ranks(graphs).map_err(all)?;
    if options.position < 0 {
        return Err(all(format!("position {} is before the first one, 0", options.position)));
    }
    let mut tensors = Tensors::new(kernel).map_err(all)?;
    let order = Order::new(graphs, &ranks).map_err(|((rank, task), member, reason)| {
        vec![Refusal { pointer: format!("/all_tasks/{task}/{member}"), rank, reason }]
    })?;
    let (mut plan, mut refusals) = plan(graphs, &ranks, kernel, &tensors, (&options.run, options.position));
    // With a task missing, nothing true can be said about the accesses of the others.
    if !refusals.is_empty() {
        return Err(refusals);
    }
    join_maxima(&mut plan, &order, &tensors, &mut refusals);
    join_routes(&mut plan, &order, &tensors, &mut refusals);
    join_sums(&mut plan, &order, &mut tensors, &mut refusals);
    let versions = versions(&plan, &order, &tensors, &mut refusals);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let boxes = boxes(&plan, &versions, &tensors, &mut refusals);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let mut lowered = lower(&plan, &boxes, &order, &tensors, options.position, ranks.len(), &mut refusals);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let numbers = lowered.records.finish(&tensors, ranks.len());
    let mut binding = Binding::new(&lowered.records, &tensors);
    let name = |number: usize| lowered.records.all.get(number).map(|record| record.name.clone());
    let name = |number: usize| numbers.get(number).and_then(|&number| name(number));
    binding.positions = lowered.positions.and_then(name);
    let rows = lowered.row_positions.iter().filter_map(|(&row, &number)| Some((row, name(number)?)));
    binding.row_positions = rows.collect();
    binding.unused = unused(&plan, &tensors, &binding);
    let (document, origin) = document(graphs, &order, &lowered, &numbers, options)?;
    let text = document.to_string();
    let program = read(text.as_bytes()).map_err(|found| broken(&found, &origin))?;
    fits(&program, &origin)?;
    Ok(Imported { program: write(&program, Layout::Compact), binding, origin })
}

/// The rank of each graph, by the event that its task 1 triggers.
fn ranks(graphs: &[&TaskGraph<'_>]) -> Result<Vec<u16>, String> {
    let mut ranks = Vec::new();
    for (number, graph) in graphs.iter().enumerate() {
        let begin = graph.all_tasks.get(1).and_then(|task| EventId::from_bits(task.trigger_event));
        let begin = begin.ok_or_else(|| {
            format!("graph {number} has no task 1 that triggers an event of its rank; see rule TS01")
        })?;
        if ranks.contains(&begin.rank) {
            return Err(format!("rank {} is given twice", begin.rank));
        }
        ranks.push(begin.rank);
    }
    if ranks.is_empty() {
        return Err("no graph is given".to_owned());
    }
    if ranks.len() > 1 && ranks.iter().enumerate().any(|(number, &rank)| number != usize::from(rank)) {
        return Err(format!("the graphs are of ranks {ranks:?}; required: 0, 1 and so on, in order"));
    }
    Ok(ranks)
}

/// Tensors of the graphs that no buffer holds a part of and no box was made of.
fn unused(plan: &Plan, tensors: &Tensors<'_>, binding: &Binding) -> Vec<String> {
    let written: Vec<usize> = plan
        .uses
        .iter()
        .filter(|found| found.access.writes() && !found.access.is_dropped())
        .map(|found| found.area.tensor)
        .collect();
    let mut names: Vec<String> = plan
        .uses
        .iter()
        .filter(|found| !written.contains(&found.area.tensor))
        .map(|found| tensors.name(found.area.tensor).to_owned())
        .filter(|name| {
            !binding.buffers.iter().any(|bound| bound.pieces.iter().any(|piece| piece.tensor == *name))
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

type Document = (Value, Vec<TaskRef>);

/// The program: a counter for each event, and one for each step inside of a task.
fn document(
    graphs: &[&TaskGraph<'_>],
    order: &Order,
    lowered: &Lowered,
    numbers: &[usize],
    options: &Options,
) -> Result<Document, Vec<Refusal>> {
    let label =
        |rank: usize, what: String| if graphs.len() > 1 { format!("rank {rank} {what}") } else { what };
    let mut sorted: Vec<EventRef> = order.events.clone();
    sorted.sort_unstable();
    let mut notes: Vec<String> =
        sorted.iter().map(|place| label(place.rank, format!("event {}", place.position))).collect();
    let places: BTreeMap<EventRef, CounterId> =
        sorted.iter().enumerate().map(|(counter, &place)| (place, CounterId::at(counter))).collect();
    let counter = |event: Option<EventIndex>| {
        event
            .and_then(|event| order.events.get(event.index()))
            .and_then(|place| places.get(place).map(|&c| (c, *place)))
    };
    let (mut tasks, mut origin) = (Vec::new(), Vec::new());
    for (task, steps) in &lowered.steps {
        let ends = order.ends(*task);
        let mut waits = Vec::new();
        for (counter, EventRef { rank, position: event }) in
            order.waits(*task).into_iter().filter_map(|event| counter(Some(event)))
        {
            let triggers =
                graphs.get(rank).and_then(|graph| graph.all_events.get(event)).map_or(0, |e| e.num_triggers);
            if !(1..=i64::from(u32::MAX)).contains(&triggers) {
                let reason = format!("event {event} has {triggers} triggers; a wait takes 1 to 2^32 - 1");
                return Err(vec![Refusal {
                    pointer: format!("/all_events/{event}/num_triggers"),
                    rank,
                    reason,
                }]);
            }
            waits.push(json!({"counter": counter, "threshold": triggers}));
        }
        for (position, step) in steps.iter().enumerate() {
            let is_last = position + 1 == steps.len();
            let out = match counter(ends.trigger).filter(|_| is_last) {
                Some((counter, _)) => counter,
                None => {
                    let what = if is_last { "the end of" } else { "inside" };
                    notes.push(label(task.0, format!("{what} task {}", task.1)));
                    CounterId::at(notes.len() - 1)
                }
            };
            let ids = |buffers: &[usize]| -> Vec<usize> {
                buffers.iter().filter_map(|&buffer| numbers.get(buffer).copied()).collect()
            };
            tasks.push(json!({
                "id": tasks.len(), "op": step.op.name(), "inputs": ids(&step.inputs), "outputs": ids(&step.outputs),
                "out_counter": out, "waits": waits, "params": step.params,
                "sm": options.one_queue.then_some(0), "label": label(task.0, format!("task {}", task.1)),
            }));
            origin.push(*task);
            waits = vec![json!({"counter": out, "threshold": 1})];
        }
    }
    let buffers = lowered.records.all.iter().enumerate().map(|(id, record)| {
        json!({"id": id, "name": record.name, "kind": record.kind.name(), "dtype": record.dtype.name(),
               "shape": record.shape, "source": record.source})
    });
    let counters = notes.iter().enumerate().map(|(id, note)| json!({"id": id, "note": note}));
    let document = json!({
        "ir_version": megakernel_ir::IR_VERSION, "abi_version": megakernel_ir::ABI_VERSION,
        "meta": {"imported_from": "task graph"},
        "buffers": buffers.collect::<Vec<_>>(), "counters": counters.collect::<Vec<_>>(), "tasks": tasks,
    });
    Ok((document, origin))
}

/// What opcodes do not take: element types, extents. Deadlocks and races are the program's to show.
fn fits(program: &Program<'_>, origin: &[TaskRef]) -> Result<(), Vec<Refusal>> {
    let verdict = validate_program(program, Classes::of(&[Class::STRUCTURE, Class::MEMORY_SAFETY]));
    let found: Vec<_> = verdict
        .diagnostics
        .into_iter()
        .filter(|found| found.is_error() && !matches!(found.rule, Rule::M05 | Rule::M06))
        .collect();
    if found.is_empty() { Ok(()) } else { Err(broken(&found, origin)) }
}

fn broken(found: &[megakernel_ir::Diagnostic], origin: &[TaskRef]) -> Vec<Refusal> {
    let refusal = |found: &megakernel_ir::Diagnostic| {
        let task = found
            .pointer
            .strip_prefix("/tasks/")
            .and_then(|rest| rest.split('/').next()?.parse::<usize>().ok());
        let (rank, task) = task.and_then(|task| origin.get(task)).copied().unwrap_or_default();
        Refusal {
            pointer: format!("/all_tasks/{task}"),
            rank,
            reason: format!(
                "its opcodes do not take it: {} {}: {}",
                found.rule,
                found.rule.slug(),
                found.message
            ),
        }
    };
    found.iter().map(refusal).collect()
}
