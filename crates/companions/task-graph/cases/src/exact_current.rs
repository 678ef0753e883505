//! What the exact translation of the current generator says (clause TGR-24), written down from the clause: which event each block
//! belongs to is asked of every block. It serves cases alone, on graphs that break no TK rule.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_corpus::builder::{Error, Result};
use megakernel_task_graph::{EVENT_INVALID, EventId, EventType, KernelGraph, Operand, Operator};
use megakernel_task_graph_checker::work::{Tile, Work, cut, grid, work};
use serde_json::{Value, json};

use crate::exact::gcd;

/// Writes a slot of another rank.
const PUT: i64 = 301;
/// No code is generated for it.
const ARGMAX: i64 = 109;

/// Which coordinates of a block a type has in its word: of the request, the middle, and the upper half.
const WORDS: [(&[i64], &str); 7] = [
    (&[164, 263, 264], "xzy"),
    (&[266, 269, 270, 288, 290, 292], "yxz"),
    (&[267], "x-z"),
    (&[268], "zyx"),
    (&[295], "xyz"),
    (&[287, 289, 291], "yx-"),
    (&[161, 162, 248, 249, 254, 255], "e"),
];

/// One operator reads what another one writes.
#[derive(Clone)]
struct Edge<'a> {
    ends: [usize; 2],
    operands: [&'a Operand<'a>; 2],
    slices: [i64; 4],
}

impl Edge<'_> {
    /// In which slice of each axis of the tensor a block lies, of the producer (0) or the consumer (1).
    fn slice(&self, side: usize, operator: &Operator<'_>, block: [i64; 3]) -> [i64; 4] {
        [0, 1, 2, 3].map(|axis| {
            cut(&self.operands[side].map, axis)
                .map_or(0, |a| block[a] * self.slices[axis] / grid(operator)[a])
        })
    }
}

/// The exact translation of `graph` for `rank` of `ranks`.
///
/// # Errors
/// The graph breaks a TK rule.
pub fn exact_current(graph: &KernelGraph<'_>, ranks: i64, rank: i64) -> Result<Value> {
    let mut made = Made {
        graph,
        ranks,
        rank,
        tasks: blocks(graph, ranks, rank)?,
        placed: BTreeMap::new(),
        records: Vec::new(),
        events: Vec::new(),
    };
    let mut edges = kept(graph);
    let number = graph.operators.len();
    let partners = |edges: &[Edge<'_>], side: usize, operator: usize| -> BTreeSet<usize> {
        edges.iter().filter(|edge| edge.ends[side] == operator).map(|edge| edge.ends[1 - side]).collect()
    };
    let several =
        |edges: &[Edge<'_>], side: usize, operator: usize| partners(edges, side, operator).len() > 1;
    for side in [0, 1] {
        for (index, operator) in graph.operators.iter().enumerate() {
            if several(&edges, side, index) {
                agree(&mut edges, side, index, operator);
            }
        }
    }
    let mut depth = vec![0; number];
    for index in 0..number {
        let before = edges.iter().filter(|edge| edge.ends[1] == index).map(|edge| depth[edge.ends[0]] + 1);
        depth[index] = before.max().unwrap_or(0);
    }
    let mut order: Vec<usize> = (0..number).collect();
    order.sort_by_key(|&index| depth[index]);
    let mut done = BTreeSet::new();
    for index in order {
        let own: Vec<&Edge<'_>> = edges.iter().filter(|edge| edge.ends[1] == index).collect();
        let Some(first) = own.first() else {
            let all = made.of(index, |_| true);
            made.event(&all, &[]);
            continue;
        };
        let producer = first.ends[0];
        if several(&edges, 0, producer) {
            if done.insert(producer) {
                let all: Vec<&Edge<'_>> = edges.iter().filter(|edge| edge.ends[0] == producer).collect();
                made.around(&all, 0);
            }
        } else if several(&edges, 1, index) {
            made.around(&own, 1);
        } else {
            made.between(first);
        }
    }
    let last = (0..number).filter(|&index| edges.iter().all(|edge| edge.ends[0] != index));
    let last: Vec<(usize, [i64; 3])> = last.flat_map(|index| made.of(index, |_| true)).collect();
    Ok(made.document(&last))
}

/// The tasks of each operator as blocks.
fn blocks(graph: &KernelGraph<'_>, ranks: i64, rank: i64) -> Result<Vec<Vec<Work>>> {
    let mut all = work(graph, ranks, rank, false).map_err(Error)?;
    let mut known: BTreeMap<i64, Vec<Value>> = BTreeMap::new();
    for (operator, tasks) in graph.operators.iter().zip(&mut all) {
        let shapes = |tiles: &[Tile]| -> Vec<Value> {
            tiles.iter().map(|tile| json!([tile.dims, tile.strides])).collect()
        };
        let key = tasks
            .first()
            .map(|task| json!([shapes(&task.inputs), shapes(&task.outputs), operator.params.value()]));
        let known = known.entry(operator.task_type).or_default();
        let key = key.unwrap_or_default();
        let variant = known.iter().position(|other| *other == key).unwrap_or_else(|| {
            known.push(key);
            known.len() - 1
        });
        for task in tasks {
            task.variant = if operator.task_type == ARGMAX { 0 } else { variant as i64 };
            if operator.task_type == PUT {
                let name =
                    operator.inputs.first().and_then(Option::as_ref).map_or("", |input| &*input.tensor);
                let partial = graph.tensors.iter().find(|tensor| &*tensor.name == name);
                let elements: i64 = partial.map_or(0, |tensor| tensor.dims.iter().product());
                let bits = |tile: &Tile| megakernel_task_graph::element_bits(tile.dtype).unwrap_or(8);
                task.outputs.iter_mut().for_each(|tile| tile.offset += rank * elements * bits(tile) / 8);
            }
        }
    }
    Ok(all)
}

/// Edges that are not left out.
fn kept<'a>(graph: &'a KernelGraph<'a>) -> Vec<Edge<'a>> {
    let mut edges = Vec::new();
    for (to, consumer) in graph.operators.iter().enumerate() {
        for input in consumer.inputs.iter().flatten() {
            let mut latest = None;
            for (from, producer) in graph.operators[..to].iter().enumerate() {
                for output in producer.outputs.iter().filter(|output| *output.tensor == *input.tensor) {
                    latest = Some((from, output));
                }
            }
            let Some((from, output)) = latest else { continue };
            let extent = |map: &[i64], operator: &Operator<'_>, axis: usize| {
                cut(map, axis).map_or(1, |a| grid(operator)[a])
            };
            let slices = [0, 1, 2, 3].map(|axis| {
                gcd(extent(&output.map, &graph.operators[from], axis), extent(&input.map, consumer, axis))
            });
            edges.push(Edge { ends: [from, to], operands: [output, input], slices });
        }
    }
    let all = edges.clone();
    edges.retain(|edge| {
        let others =
            all.iter().filter(|other| other.ends[0] == edge.ends[0] && other.ends[1] != edge.ends[1]);
        !others.into_iter().any(|other| leads(&all, other.ends[1], edge.ends[1]))
    });
    edges
}

fn leads(edges: &[Edge<'_>], from: usize, to: usize) -> bool {
    edges.iter().any(|edge| edge.ends[0] == from && (edge.ends[1] == to || leads(edges, edge.ends[1], to)))
}

/// Gives all edges at one side of an operator the same steps there: the least that all of theirs divide.
fn agree(edges: &mut [Edge<'_>], side: usize, index: usize, operator: &Operator<'_>) {
    let own = |edge: &Edge<'_>| edge.ends[side] == index;
    let extents = grid(operator);
    let steps = [0, 1, 2].map(|a| {
        let steps = edges.iter().filter(|edge| own(edge)).map(|edge| step(edge, side, extents, a));
        steps.fold(1, |common, step| common * step / gcd(common, step))
    });
    for edge in edges.iter_mut().filter(|edge| own(edge)) {
        for axis in 0..4 {
            if let Some(a) = cut(&edge.operands[side].map, axis) {
                edge.slices[axis] = extents[a] / steps[a];
            }
        }
    }
}

/// How many blocks along a grid axis lie in one slice.
fn step(edge: &Edge<'_>, side: usize, extents: [i64; 3], a: usize) -> i64 {
    let axis = edge.operands[side].map.get(a).copied().filter(|&axis| axis >= 0);
    axis.map_or(extents[a], |axis| extents[a] / edge.slices[axis as usize])
}

/// A block of an operator.
type Place = (usize, [i64; 3]);

/// A graph that grows event by event.
struct Made<'a> {
    graph: &'a KernelGraph<'a>,
    ranks: i64,
    rank: i64,
    tasks: Vec<Vec<Work>>,
    /// Ids of the tasks of each block.
    placed: BTreeMap<Place, Vec<usize>>,
    records: Vec<Value>,
    /// Triggers and range.
    events: Vec<(usize, usize, usize)>,
}

impl Made<'_> {
    fn id(&self, rank: i64, position: usize, nvshmem: bool) -> i64 {
        EventId { rank: rank as u16, position: position as u32, nvshmem }.bits()
    }

    /// The blocks of an operator that fulfil a condition, in order.
    fn of(&self, index: usize, wanted: impl Fn([i64; 3]) -> bool) -> Vec<Place> {
        let blocks = self.tasks[index].iter().map(|task| task.block);
        blocks.filter(|&block| wanted(block)).map(|block| (index, block)).collect()
    }

    /// The events around a fork (side 0) or a join (side 1).
    fn around(&mut self, edges: &[&Edge<'_>], side: usize) {
        let Some(first) = edges.first() else { return };
        let centre = first.ends[side];
        let operator = &self.graph.operators[centre];
        let extents = grid(operator);
        let steps = [0, 1, 2].map(|a| step(first, side, extents, a));
        let group = |block: [i64; 3]| [0, 1, 2].map(|a| block[a] / steps[a]);
        let groups: BTreeSet<[i64; 3]> = self.tasks[centre].iter().map(|task| group(task.block)).collect();
        for here in groups {
            let own = self.of(centre, |block| group(block) == here);
            let mut others = Vec::new();
            for edge in edges {
                let wanted =
                    [0, 1, 2, 3].map(|axis| cut(&edge.operands[side].map, axis).map_or(0, |a| here[a]));
                let other = edge.ends[1 - side];
                let operator = &self.graph.operators[other];
                others.extend(self.of(other, |block| edge.slice(1 - side, operator, block) == wanted));
            }
            if side == 0 { self.event(&others, &own) } else { self.event(&own, &others) }
        }
    }

    /// The events between two operators that have to do with nobody else.
    fn between(&mut self, edge: &Edge<'_>) {
        let [from, to] = edge.ends.map(|index| &self.graph.operators[index]);
        let slices: BTreeSet<[i64; 4]> =
            self.tasks[edge.ends[1]].iter().map(|task| edge.slice(1, to, task.block)).collect();
        for slice in slices {
            let dependents = self.of(edge.ends[1], |block| edge.slice(1, to, block) == slice);
            let producers = self.of(edge.ends[0], |block| edge.slice(0, from, block) == slice);
            self.event(&dependents, &producers);
        }
    }

    /// Tasks for some blocks, which wait for an event that the tasks of others trigger; or for nothing, if there are none.
    fn event(&mut self, dependents: &[Place], producers: &[Place]) {
        let position = self.events.len() + 2;
        let is_put = |place: &Place| self.graph.operators[place.0].task_type == PUT;
        let is_signalled = producers.iter().any(is_put);
        let waits = match producers.is_empty() {
            true => EVENT_INVALID,
            false => self.id(self.rank, position, is_signalled),
        };
        let first = self.records.len() + 2;
        for &(index, block) in dependents {
            let Some(task) = self.tasks[index].iter().find(|task| task.block == block).cloned() else {
                continue;
            };
            let each = if is_put(&(index, block)) { self.ranks - 1 } else { 1 };
            for _ in 0..each {
                self.placed.entry((index, block)).or_default().push(self.records.len() + 2);
                self.records.push(record(&task, grid(&self.graph.operators[index]), waits));
            }
        }
        let mut triggers = 0;
        for place in producers {
            let is_put = is_put(place);
            let others: Vec<i64> = (0..self.ranks).filter(|&rank| rank != self.rank).collect();
            let ids = self.placed.get(place).cloned().unwrap_or_default();
            for (n, id) in ids.into_iter().enumerate() {
                let target = if is_put { others.get(n).copied().unwrap_or(self.rank) } else { self.rank };
                let trigger = self.id(target, position, is_put);
                if let Some(record) = self.records.get_mut(id - 2) {
                    record["trigger_event"] = json!(trigger);
                }
                triggers += 1;
            }
        }
        if !producers.is_empty() {
            self.events.push((triggers, first, self.records.len() + 2));
        }
    }

    fn document(mut self, last: &[Place]) -> Value {
        let end = self.id(self.rank, self.events.len() + 2, false);
        let mut ended = 0;
        for place in last {
            for &id in self.placed.get(place).into_iter().flatten() {
                if let Some(record) = self.records.get_mut(id - 2) {
                    record["trigger_event"] = json!(end);
                }
                ended += 1;
            }
        }
        let event = |kind: EventType, (triggers, first, last): (usize, usize, usize)| {
            json!({
                "event_type": kind as i64, "first_task_id": first, "last_task_id": last, "num_triggers": triggers
            })
        };
        let tasks = self.records.len() + 2;
        let mut events = vec![
            event(EventType::Termination, (1, 0, 0)),
            event(EventType::LaunchDependentTasks, (1, 2, tasks)),
        ];
        events.extend(self.events.iter().map(|&each| event(EventType::Empty, each)));
        events.push(event(EventType::EndOfTaskGraph, (ended, 0, 0)));
        let reserved = |task_type: i64, trigger: i64| {
            json!({
                "dependent_event": EVENT_INVALID, "inputs": null, "outputs": null, "task_type": task_type,
                "trigger_event": trigger, "variant_id": 0, "request_id": -1, "kv_idx": -1, "merge_task_offset": -1,
                "expert_offset": -1, "task_offset": -1
            })
        };
        let free = |(index, record): (usize, &Value)| {
            (record["dependent_event"] == EVENT_INVALID).then_some(index + 2)
        };
        let first: Vec<usize> = self.records.iter().enumerate().filter_map(free).collect();
        let mut all = vec![reserved(0, EVENT_INVALID), reserved(10, self.id(self.rank, 1, false))];
        all.append(&mut self.records);
        json!({"all_events": events, "all_tasks": all, "first_tasks": first})
    }
}

/// The record of a task, which triggers nothing yet.
fn record(task: &Work, [width, height, _]: [i64; 3], waits: i64) -> Value {
    let tiles = |tiles: &[Tile]| -> Value {
        if tiles.is_empty() { Value::Null } else { tiles.iter().map(Tile::json).collect() }
    };
    let [x, y, z] = task.block;
    let form =
        WORDS.iter().find(|(types, _)| types.contains(&task.task_type)).map_or("x--", |(_, form)| *form);
    let at = |place: usize, unset: i64| match form.as_bytes().get(place) {
        Some(b'x') => x,
        Some(b'y') => y,
        Some(b'z') => z,
        _ => unset,
    };
    let whole = match (form, task.task_type) {
        ("e", _) => Some(x),
        (_, 302) => Some(x + y * width + z * width * height),
        _ => None,
    };
    let (request, kv) = whole.map_or((at(0, -1), at(1, 0xffff)), |word| (word & 0xffff, word >> 16));
    // A number of 16 bits and one of 32, read as signed ones.
    let half = |value: i64| if value & 0x8000 == 0 { value & 0xffff } else { (value & 0xffff) - 0x1_0000 };
    let low = (kv << 16) + (request & 0xffff);
    let low = if low < 1 << 31 { low } else { low - (1 << 32) };
    let merge = if whole.is_some() { -1 } else { at(2, -1) };
    json!({
        "dependent_event": waits, "inputs": tiles(&task.inputs), "outputs": tiles(&task.outputs),
        "task_type": task.task_type, "trigger_event": EVENT_INVALID, "variant_id": task.variant,
        "request_id": half(request), "kv_idx": kv, "merge_task_offset": merge, "expert_offset": low, "task_offset": low
    })
}
