//! What the exact translation of a kernel graph says (clauses TGR-12 to TGR-15), written down from the clauses: the tasks of
//! each operator, then the events between neighbours. It serves cases alone, on graphs that break no TK rule.

use std::collections::BTreeMap;

use megakernel_corpus::builder::{Error, Result};
use megakernel_task_graph::{EVENT_INVALID, EventId, EventType, KernelGraph, Operator};
use megakernel_task_graph_checker::work::{self, ALL_REDUCE, REDUCE, Tile, Work, cut, grid};
use serde_json::{Value, json};

/// The tasks of every operator; see [`work::work`].
///
/// # Errors
/// The graph breaks a TK rule.
pub fn work(graph: &KernelGraph<'_>, ranks: i64, rank: i64, own: bool) -> Result<Vec<Vec<Work>>> {
    work::work(graph, ranks, rank, own).map_err(Error)
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

pub(crate) fn gcd(a: i64, b: i64) -> i64 {
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
