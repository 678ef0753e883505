//! What the exact translation of a kernel graph says (clauses TGR-12 to TGR-15), written down from the clauses: the tasks of
//! each operator, then the events between neighbours. It serves cases alone, on graphs that break no TK rule.

use std::collections::BTreeMap;

use megakernel_task_graph::{
    EVENT_INVALID, EventId, EventType, KernelGraph, Operand, Operator, TensorDecl, TensorKind, element_bits,
};
use serde_json::{Value, json};

use super::build::Tile;
use crate::builder::{Error, Result};

/// Operators of this type become copies and reductions.
pub const ALL_REDUCE: i64 = 106;
const REDUCE: i64 = 107;
const COPY: i64 = 199;

/// A task that an operator becomes.
#[derive(Clone, Debug)]
pub struct Work {
    /// Which operator.
    pub operator: usize,
    /// Block of the grid.
    pub block: [i64; 3],
    /// Type.
    pub task_type: i64,
    /// Variant.
    pub variant: i64,
    /// What it reads.
    pub inputs: Vec<Tile>,
    /// What it writes.
    pub outputs: Vec<Tile>,
    /// Of a copy: the rank that it copies to.
    pub target: Option<i64>,
}

/// The tasks of every operator, on one of `ranks` ranks. With `own` each block is copied to the own rank too.
///
/// # Errors
/// The graph breaks a TK rule.
pub fn work(graph: &KernelGraph<'_>, ranks: i64, rank: i64, own: bool) -> Result<Vec<Vec<Work>>> {
    let mut variants: BTreeMap<i64, Vec<Value>> = BTreeMap::new();
    let mut all = Vec::new();
    for (n, operator) in graph.operators.iter().enumerate() {
        let mut tasks = Vec::new();
        let mut reductions = Vec::new();
        for block in blocks(grid(operator)) {
            let inputs: Vec<Tile> = operator
                .inputs
                .iter()
                .map(|input| {
                    input.as_ref().map_or(Ok(Tile::null()), |input| tile(graph, operator, input, block))
                })
                .collect::<Result<_>>()?;
            let outputs: Vec<Tile> = operator
                .outputs
                .iter()
                .map(|output| tile(graph, operator, output, block))
                .collect::<Result<_>>()?;
            let plain = Work {
                operator: n,
                block,
                task_type: operator.task_type,
                variant: 0,
                inputs,
                outputs,
                target: None,
            };
            if operator.task_type != ALL_REDUCE {
                tasks.push(plain);
                continue;
            }
            let [Some(partial), Some(slots)] = [plain.inputs.first(), plain.inputs.get(1)] else {
                return Err(Error(format!("all-reduce `{}` has fewer than 2 inputs", operator.name)));
            };
            let name = operator.inputs.first().and_then(Option::as_ref).map_or("", |input| &input.tensor);
            let whole: i64 = declared(graph, name)?.dims.iter().product();
            let slot = Tile {
                offset: slots.offset + rank * whole * element_bits(partial.dtype).unwrap_or(8) / 8,
                ..slots.clone()
            };
            for target in (0..ranks).filter(|target| own || *target != rank) {
                tasks.push(Work {
                    task_type: COPY,
                    inputs: vec![partial.clone()],
                    outputs: vec![slot.clone()],
                    target: Some(target),
                    ..plain.clone()
                });
            }
            reductions.push(Work { task_type: REDUCE, ..plain });
        }
        tasks.extend(reductions);
        // Three types have one variant only.
        if ![ALL_REDUCE, REDUCE, 109].contains(&operator.task_type) {
            let key = tasks.first().map(|task| variant_key(task, operator)).unwrap_or_default();
            let known = variants.entry(operator.task_type).or_default();
            let variant = known.iter().position(|other| *other == key).unwrap_or_else(|| {
                known.push(key);
                known.len() - 1
            });
            tasks.iter_mut().for_each(|task| task.variant = variant as i64);
        }
        all.push(tasks);
    }
    Ok(all)
}

/// What code depends on: shapes, strides and element types of the tiles, and the parameters.
fn variant_key(task: &Work, operator: &Operator<'_>) -> Value {
    let tiles = |tiles: &[Tile]| -> Vec<Value> {
        tiles.iter().map(|tile| json!([tile.dims, tile.strides, tile.dtype])).collect()
    };
    json!([tiles(&task.inputs), tiles(&task.outputs), operator.params.value()])
}

fn grid(operator: &Operator<'_>) -> [i64; 3] {
    [0, 1, 2].map(|axis| operator.grid.get(axis).copied().unwrap_or(1))
}

/// Every block, x slowest.
fn blocks([x, y, z]: [i64; 3]) -> Vec<[i64; 3]> {
    (0..x).flat_map(|x| (0..y).flat_map(move |y| (0..z).map(move |z| [x, y, z]))).collect()
}

fn declared<'a>(graph: &'a KernelGraph<'a>, name: &str) -> Result<&'a TensorDecl<'a>> {
    let found = graph.tensors.iter().find(|tensor| &*tensor.name == name);
    found.ok_or_else(|| Error(format!("no tensor is named `{name}`")))
}

fn strides(tensor: &TensorDecl<'_>) -> Vec<i64> {
    (0..tensor.dims.len()).map(|d| tensor.dims.iter().skip(d + 1).product()).collect()
}

/// The grid axis that cuts an axis of a tensor.
fn cut(map: &[i64], axis: usize) -> Option<usize> {
    map.iter().position(|&cut| cut == axis as i64)
}

/// The part of a tensor that a block uses.
fn tile(
    graph: &KernelGraph<'_>,
    operator: &Operator<'_>,
    operand: &Operand<'_>,
    block: [i64; 3],
) -> Result<Tile> {
    let tensor = declared(graph, &operand.tensor)?;
    let grid = grid(operator);
    let extents: Vec<i64> = tensor
        .dims
        .iter()
        .enumerate()
        .map(|(d, extent)| cut(&operand.map, d).map_or(*extent, |axis| extent / grid[axis]))
        .collect();
    let start =
        |d: usize| cut(&operand.map, d).map_or(0, |axis| block[axis] * extents.get(d).copied().unwrap_or(0));
    let mut starts: Vec<i64> = (0..extents.len()).map(start).collect();
    let mut holder = tensor;
    if tensor.io == TensorKind::Fused {
        let groups = tensor.num_groups.0.unwrap_or(1);
        let parts: Vec<&TensorDecl<'_>> =
            tensor.parts.iter().map(|name| declared(graph, name)).collect::<Result<_>>()?;
        let share = |part: &TensorDecl<'_>| part.dims.first().copied().unwrap_or(0) / groups;
        let group: i64 = parts.iter().map(|part| share(part)).sum();
        let row = starts.first().copied().unwrap_or(0);
        let mut within = row % group;
        for part in parts {
            if within < share(part) {
                holder = part;
                if let Some(start) = starts.first_mut() {
                    *start = row / group * share(part) + within;
                }
                break;
            }
            within -= share(part);
        }
    }
    let strides = strides(holder);
    let first: i64 = starts.iter().zip(&strides).map(|(start, stride)| start * stride).sum();
    let offset = first * element_bits(holder.data_type).unwrap_or(8) / 8;
    Ok(Tile { base: holder.name.to_string(), dtype: tensor.data_type, dims: extents, strides, offset })
}

/// A task graph that grows operator by operator.
struct Growing {
    rank: u16,
    tasks: Vec<Work>,
    triggers: Vec<i64>,
    /// Triggers and range.
    events: Vec<(usize, usize, usize)>,
}

impl Growing {
    /// Where the next task goes.
    fn next(&self) -> usize {
        self.tasks.len() + 2
    }

    fn push(&mut self, task: Work) -> usize {
        self.tasks.push(task);
        self.triggers.push(EVENT_INVALID);
        self.tasks.len() + 1
    }

    /// The position that the next event gets.
    fn position(&self) -> usize {
        self.events.len() + 2
    }

    fn trigger(&mut self, task: usize, rank: u16, position: usize, nvshmem: bool) {
        if let Some(trigger) = self.triggers.get_mut(task - 2) {
            *trigger = EventId { rank, position: position as u32, nvshmem }.bits();
        }
    }
}

/// The exact translation of `graph` for `rank` of `ranks`.
///
/// # Errors
/// The graph breaks a TK rule.
pub fn exact(graph: &KernelGraph<'_>, ranks: i64, rank: i64) -> Result<Value> {
    let mut growing =
        Growing { rank: rank as u16, tasks: Vec::new(), triggers: Vec::new(), events: Vec::new() };
    let mut previous: BTreeMap<[i64; 3], usize> = BTreeMap::new();
    let mut first = Vec::new();
    for (n, tasks) in work(graph, ranks, rank, false)?.into_iter().enumerate() {
        let Some(operator) = graph.operators.get(n) else { continue };
        let before = n.checked_sub(1).and_then(|n| graph.operators.get(n));
        previous = match before {
            None => {
                let placed: BTreeMap<_, _> =
                    tasks.into_iter().map(|task| (task.block, growing.push(task))).collect();
                first = placed.values().copied().collect();
                placed
            }
            Some(_) if operator.task_type == ALL_REDUCE => all_reduce(&mut growing, tasks, &previous, ranks),
            Some(before) => neighbours(&mut growing, tasks, (before, operator), &previous)?,
        };
    }
    let end = growing.position();
    for &task in previous.values() {
        growing.trigger(task, growing.rank, end, false);
    }
    Ok(document(&growing, &first, previous.len()))
}

fn all_reduce(
    growing: &mut Growing,
    tasks: Vec<Work>,
    previous: &BTreeMap<[i64; 3], usize>,
    ranks: i64,
) -> BTreeMap<[i64; 3], usize> {
    let (reductions, copies): (Vec<Work>, Vec<Work>) =
        tasks.into_iter().partition(|task| task.task_type == REDUCE);
    let each = (ranks - 1) as usize;
    let mut copied: Vec<(usize, i64, [i64; 3])> = Vec::new();
    for block in copies.chunks(each.max(1)) {
        let Some(place) = block.first().map(|copy| copy.block) else { continue };
        let position = growing.position();
        if let Some(&producer) = previous.get(&place) {
            growing.trigger(producer, growing.rank, position, false);
        }
        growing.events.push((1, growing.next(), growing.next() + each));
        for copy in block {
            let target = copy.target.unwrap_or(0);
            copied.push((growing.push(copy.clone()), target, place));
        }
    }
    let mut placed = BTreeMap::new();
    for reduction in reductions {
        let position = growing.position();
        for &(task, target, block) in &copied {
            if block == reduction.block {
                growing.trigger(task, target as u16, position, true);
            }
        }
        growing.events.push((each, growing.next(), growing.next() + 1));
        placed.insert(reduction.block, growing.push(reduction));
    }
    placed
}

/// Events between two operators that follow each other: along each axis of the tensor that they share, as many as divide both.
fn neighbours(
    growing: &mut Growing,
    tasks: Vec<Work>,
    (before, operator): (&Operator<'_>, &Operator<'_>),
    previous: &BTreeMap<[i64; 3], usize>,
) -> Result<BTreeMap<[i64; 3], usize>> {
    let mut shared = None;
    for input in operator.inputs.iter().flatten() {
        for output in before.outputs.iter().filter(|output| *output.tensor == *input.tensor) {
            shared = Some((input, output));
        }
    }
    let Some((input, output)) = shared else {
        return Err(Error(format!("`{}` shares no tensor with `{}`", operator.name, before.name)));
    };
    let (grid, earlier) = (grid(operator), grid(before));
    let slices = |axis: usize| {
        let consumers = cut(&input.map, axis).map_or(1, |cut| grid[cut]);
        let producers = cut(&output.map, axis).map_or(1, |cut| earlier[cut]);
        gcd(producers, consumers)
    };
    let counts = [0, 1, 2, 3].map(slices);
    let mut placed = BTreeMap::new();
    for a in 0..counts[0] {
        for b in 0..counts[1] {
            for c in 0..counts[2] {
                for d in 0..counts[3] {
                    let slice = [a, b, c, d];
                    let inside = |block: [i64; 3], grid: [i64; 3], map: &[i64]| {
                        (0..4).all(|axis| {
                            cut(map, axis)
                                .is_none_or(|cut| block[cut] * counts[axis] / grid[cut] == slice[axis])
                        })
                    };
                    let position = growing.position();
                    let from = growing.next();
                    for task in tasks.iter().filter(|task| inside(task.block, grid, &input.map)) {
                        placed.insert(task.block, growing.push(task.clone()));
                    }
                    let producers: Vec<usize> = previous
                        .iter()
                        .filter(|(block, _)| inside(**block, earlier, &output.map))
                        .map(|(_, &task)| task)
                        .collect();
                    for &producer in &producers {
                        growing.trigger(producer, growing.rank, position, false);
                    }
                    growing.events.push((producers.len(), from, growing.next()));
                }
            }
        }
    }
    Ok(placed)
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn document(growing: &Growing, first: &[usize], last: usize) -> Value {
    let id =
        |position: usize| EventId { rank: growing.rank, position: position as u32, nvshmem: false }.bits();
    let event = |kind: EventType, (triggers, first, last): (usize, usize, usize)| {
        json!({
            "event_type": kind as i64, "first_task_id": first, "last_task_id": last, "num_triggers": triggers
        })
    };
    let mut events = vec![
        event(EventType::Termination, (1, 0, 0)),
        event(EventType::LaunchDependentTasks, (1, 2, growing.next())),
    ];
    events.extend(growing.events.iter().map(|&each| event(EventType::Empty, each)));
    events.push(event(EventType::EndOfTaskGraph, (last, 0, 0)));
    let reserved = |task_type: i64, trigger: i64| {
        json!({
            "dependent_event": EVENT_INVALID, "inputs": null, "outputs": null, "task_type": task_type,
            "trigger_event": trigger, "variant_id": 0
        })
    };
    let mut tasks = vec![reserved(0, EVENT_INVALID), reserved(10, id(1))];
    for (n, (task, trigger)) in growing.tasks.iter().zip(&growing.triggers).enumerate() {
        let waits = growing.events.iter().position(|&(_, first, last)| (first..last).contains(&(n + 2)));
        let tiles = |tiles: &[Tile]| -> Value { tiles.iter().map(Tile::json).collect() };
        tasks.push(json!({
            "dependent_event": waits.map_or(EVENT_INVALID, |event| id(event + 2)),
            "inputs": tiles(&task.inputs), "outputs": tiles(&task.outputs), "task_type": task.task_type,
            "trigger_event": trigger, "variant_id": task.variant
        }));
    }
    json!({"all_events": events, "all_tasks": tasks, "first_tasks": first})
}
