//! The published algorithm, step by step (clause TGR-14). It knows of one earlier operator only, the one just before.

use megakernel_ir::{Diagnostic, Rule};
use megakernel_task_graph::TaskGraph;

use super::assemble::{Assembly, copy, reduce};
use super::plan::{Block, Operand, Operator, Plan, blocks_between};

/// Axes that the recursion goes through.
const DEPTH: usize = 4;

/// The maps of a tensor that two neighbours share: the producer's and the consumer's.
type Maps = [[Option<usize>; 3]; 2];

/// Translates, or says which operator has no tensor in common with the one before it.
pub fn translate<'a>(plan: &Plan<'a>) -> Result<TaskGraph<'a>, Vec<Diagnostic>> {
    let shared = shared_maps(plan)?;
    let mut graph = Assembly::new(plan.rank);
    let mut ids: Vec<usize> = Vec::new();
    let mut before: Option<&Operator> = None;
    for (operator, maps) in plan.operators.iter().zip(shared) {
        ids = match (before.zip(maps), operator.all_reduce()) {
            (None, _) => operator.blocks().map(|block| graph.push(plan.task(operator, block))).collect(),
            (Some(_), Some(operands)) => all_reduce(plan, operator, operands, &mut graph, &ids),
            (Some((producer, maps)), None) => {
                let mut step = Step {
                    producer: Side { operator: producer, map: maps[0] },
                    consumer: Side { operator, map: maps[1] },
                    events: event_dims(producer, operator, maps),
                    producer_ids: &ids,
                    ids: vec![0; operator.blocks_count()],
                    plan,
                    graph: &mut graph,
                };
                step.split(0, [[0; 3], producer.grid], [[0; 3], operator.grid]);
                step.ids
            }
        };
        before = Some(operator);
    }
    Ok(graph.finish(&ids))
}

/// For each operator but the first, what it shares with the one before it. Of several pairs the last one counts, as in the
/// published code.
fn shared_maps(plan: &Plan<'_>) -> Result<Vec<Option<Maps>>, Vec<Diagnostic>> {
    let mut found = Vec::new();
    let mut shared = vec![None];
    for (index, pair) in plan.operators.windows(2).enumerate() {
        let [producer, consumer] = pair else { continue };
        let mut pairs: Vec<Maps> = Vec::new();
        for input in consumer.inputs.iter().flatten() {
            let same = producer.outputs.iter().filter(|output| output.tensor == input.tensor);
            pairs.extend(same.map(|output| [output.map, input.map]));
        }
        let at = format!("/kernel_graph/operators/{}", index + 1);
        if pairs.is_empty() {
            let message = "the operator reads nothing that the one before it writes, and exact mode orders neighbours \
                           only; reorder the operators, or ask for mode `sound`";
            found.push(Diagnostic::new(Rule::TK03, format!("{at}/inputs"), message));
        } else if let Some([partial, ..]) = consumer.all_reduce() {
            let written = producer.outputs.iter().any(|output| output.tensor == partial.tensor);
            let same = pairs.iter().all(|[from, to]| from == to) && producer.grid == consumer.grid;
            if pairs.len() != 1 || !written || !same {
                let message = "in exact mode the operator before an all-reduce writes the partial sum, with the same grid \
                               and map, and nothing else that the all-reduce reads";
                found.push(Diagnostic::new(Rule::TK04, format!("{at}/inputs/0"), message));
            }
        }
        shared.push(pairs.last().copied());
    }
    if plan.operators.first().is_some_and(|operator| operator.all_reduce().is_some()) {
        let message = "in exact mode an all-reduce follows the operator that writes its partial sum, and is never the first";
        found.push(Diagnostic::new(Rule::TK04, "/kernel_graph/operators/0/inputs/0", message));
    }
    if found.is_empty() { Ok(shared) } else { Err(found) }
}

/// Number of events along each axis of the shared tensor.
pub fn event_dims(producer: &Operator, consumer: &Operator, maps: Maps) -> [i64; DEPTH] {
    std::array::from_fn(|axis| {
        let cuts = |operator: &Operator, map: [Option<usize>; 3]| {
            let along = map.iter().zip(operator.grid).find(|(cut, _)| **cut == Some(axis));
            along.map_or(1, |(_, extent)| extent)
        };
        gcd(cuts(producer, maps[0]), cuts(consumer, maps[1]))
    })
}

/// The greatest common divisor.
pub fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// One of two neighbours, with the map of the shared tensor.
struct Side<'p> {
    operator: &'p Operator,
    map: [Option<usize>; 3],
}

impl Side<'_> {
    /// Slice `number` of `events` slices of a box along the grid axis that cuts `axis`.
    fn narrowed(&self, mut between: [Block; 2], axis: usize, number: i64, events: i64) -> [Block; 2] {
        for grid_axis in (0..3).filter(|&grid_axis| self.map[grid_axis] == Some(axis)) {
            let factor = self.operator.grid[grid_axis] / events;
            between[0][grid_axis] = number * factor;
            between[1][grid_axis] = (number + 1) * factor;
        }
        between
    }
}

/// Two neighbours while their events are made.
struct Step<'s, 'p, 'a> {
    plan: &'s Plan<'a>,
    graph: &'s mut Assembly<'a>,
    producer: Side<'p>,
    consumer: Side<'p>,
    events: [i64; DEPTH],
    /// The producer's tasks by place of their block.
    producer_ids: &'s [usize],
    /// The consumer's.
    ids: Vec<usize>,
}

impl Step<'_, '_, '_> {
    /// Splits two boxes of blocks along one axis after the other; at the end each pair of boxes has an event.
    fn split(&mut self, depth: usize, producers: [Block; 2], consumers: [Block; 2]) {
        let Some(&events) = self.events.get(depth) else { return self.event(producers, consumers) };
        for number in 0..events {
            let producers = self.producer.narrowed(producers, depth, number, events);
            let consumers = self.consumer.narrowed(consumers, depth, number, events);
            self.split(depth + 1, producers, consumers);
        }
    }

    fn event(&mut self, producers: [Block; 2], consumers: [Block; 2]) {
        let first = self.graph.next_task();
        for block in blocks_between(consumers[0], consumers[1]) {
            let task = self.plan.task(self.consumer.operator, block);
            self.ids[self.consumer.operator.place(block)] = self.graph.push(task);
        }
        let trigger = self.graph.event_id(self.graph.next_event());
        let mut triggers = 0;
        for block in blocks_between(producers[0], producers[1]) {
            let id = self.producer_ids[self.producer.operator.place(block)];
            self.graph.set_trigger(id, trigger);
            triggers += 1;
        }
        self.graph.event(triggers, first);
    }
}

/// Copies to all other ranks, one event a block; then the sums of what the others copied here, one event a block too.
fn all_reduce<'a>(
    plan: &Plan<'a>,
    operator: &Operator,
    operands: [&Operand; 3],
    graph: &mut Assembly<'a>,
    producer_ids: &[usize],
) -> Vec<usize> {
    let mut copies = Vec::new();
    for (block, &producer) in operator.blocks().zip(producer_ids) {
        let first = graph.next_task();
        graph.set_trigger(producer, graph.event_id(graph.next_event()));
        for target in (0..plan.ranks).filter(|&target| target != plan.rank) {
            copies.push((target, graph.push(copy(plan, operands, block))));
        }
        graph.event(1, first);
    }
    let mut ids = Vec::new();
    let peers = (plan.ranks - 1) as usize;
    for (block, copies) in operator.blocks().zip(copies.chunks(peers.max(1))) {
        for &(target, id) in copies {
            graph.set_trigger(id, graph.remote_id(target, graph.next_event()));
        }
        let first = graph.push(reduce(plan, operands, block));
        graph.event(plan.ranks - 1, first);
        ids.push(first);
    }
    ids
}
