//! The algorithm of spring 2026, step by step (clause TGR-24): it looks at all operators before it makes events.

use megakernel_ir::{Diagnostic, Rule};
use megakernel_task_graph::{TaskGraph, TaskType};

use super::assemble::Assembly;
use super::edges::{AXES, Edge, Edges};
use super::plan::{Block, Operator, Plan, blocks_between};
use super::{PUT, words};

/// Blocks of an operator.
struct Part {
    operator: usize,
    low: Block,
    high: Block,
}

/// Translates, or says which operators the generator refuses.
pub fn translate<'a>(plan: &Plan<'a>) -> Result<TaskGraph<'a>, Vec<Diagnostic>> {
    types(plan)?;
    let edges = Edges::new(plan)?;
    without_consumers(plan, &edges)?;
    let mut graph =
        Growing { plan, graph: Assembly::new(plan.rank), tasks: vec![Vec::new(); plan.operators.len()] };
    graph.graph.tasks_mut().iter_mut().for_each(words::untouched);
    for index in order(plan, &edges) {
        let operator = &plan.operators[index];
        let own: Vec<&Edge> = edges.entering(index).collect();
        match &*own {
            [] => graph.add(&Part { operator: index, low: [0; 3], high: operator.grid }),
            [edge, ..] if edges.is_fork(edge.from) => {
                let branches: Vec<&Edge> = edges.leaving(edge.from).collect();
                if branches.first().is_some_and(|first| first.to == index) {
                    graph.meet(edge.from, 0, &branches);
                }
            }
            _ if edges.is_join(index) => graph.meet(index, 1, &own),
            [edge, ..] => graph.chain(edge),
        }
    }
    let last: Vec<usize> = (0..plan.operators.len())
        .filter(|&index| edges.leaving(index).next().is_none())
        .flat_map(|index| graph.tasks[index].concat())
        .collect();
    Ok(graph.graph.finish(&last))
}

/// TK09: types that the generator knows, with the operands that they take.
fn types(plan: &Plan<'_>) -> Result<(), Vec<Diagnostic>> {
    let mut found = Vec::new();
    for (index, operator) in plan.operators.iter().enumerate() {
        let (inputs, outputs) = (operator.inputs.len(), operator.outputs.len());
        let known = TaskType::of(operator.task_type).filter(|known| !known.register.is_empty());
        let message = match known {
            None => format!("the current generator has no operators of type {}", operator.task_type),
            Some(known) if (inputs, outputs) != (known.inputs.len(), known.outputs.len()) => format!(
                "found {inputs} inputs and {outputs} outputs, {} has {} and {}",
                known.name,
                known.inputs.len(),
                known.outputs.len()
            ),
            Some(_) if operator.task_type == PUT && plan.ranks < 2 => {
                "a put needs at least two ranks, and there is one".to_owned()
            }
            Some(_) => continue,
        };
        found.push(Diagnostic::new(Rule::TK09, at(index), message));
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// TK09: puts signal those who read what they write.
fn without_consumers(plan: &Plan<'_>, edges: &Edges) -> Result<(), Vec<Diagnostic>> {
    let is_alone =
        |index: &usize| plan.operators[*index].task_type == PUT && edges.leaving(*index).next().is_none();
    let message = "no operator reads what the put writes, so that it has no event of another rank to trigger";
    let found: Vec<Diagnostic> = (0..plan.operators.len())
        .filter(is_alone)
        .map(|index| Diagnostic::new(Rule::TK09, at(index), message))
        .collect();
    if found.is_empty() { Ok(()) } else { Err(found) }
}

fn at(operator: usize) -> String {
    format!("/kernel_graph/operators/{operator}/task_type")
}

/// Operators by the longest path to them, and at equal length in order.
fn order(plan: &Plan<'_>, edges: &Edges) -> Vec<usize> {
    let mut depths = vec![0usize; plan.operators.len()];
    for index in 0..depths.len() {
        depths[index] = edges.entering(index).map(|edge| depths[edge.from] + 1).max().unwrap_or(0);
    }
    let mut order: Vec<usize> = (0..depths.len()).collect();
    order.sort_by_key(|&index| (depths[index], index));
    order
}

/// A graph that grows event by event.
struct Growing<'p, 'a> {
    plan: &'p Plan<'a>,
    graph: Assembly<'a>,
    /// Of each operator, the tasks of each block by its place; none before the operator has come up.
    tasks: Vec<Vec<Vec<usize>>>,
}

impl<'a> Growing<'_, 'a> {
    fn operator(&self, index: usize) -> &Operator {
        &self.plan.operators[index]
    }

    /// Adds the tasks of some blocks.
    fn add(&mut self, part: &Part) {
        let plan = self.plan;
        let operator = &plan.operators[part.operator];
        if self.tasks[part.operator].is_empty() {
            self.tasks[part.operator] = vec![Vec::new(); operator.blocks_count()];
        }
        for block in blocks_between(part.low, part.high) {
            let mut task = plan.task(operator, block);
            words::write(&mut task, block, operator.grid);
            let mut each = 1;
            if operator.task_type == PUT {
                each = plan.ranks - 1;
                let partial = operator.inputs.first().and_then(Option::as_ref);
                let slot = partial.map_or(0, |partial| plan.tensors[partial.tensor].elements() * plan.rank);
                let slots = operator.outputs.iter().map(|output| plan.tile_from(output, block, slot));
                task.outputs = Some(slots.collect());
            }
            let ids = (0..each).map(|_| self.graph.push(task.clone())).collect();
            self.tasks[part.operator][operator.place(block)] = ids;
        }
    }

    /// Adds an event: the tasks of some blocks depend on it, and those of others trigger it.
    fn event(&mut self, dependents: &[Part], producers: &[Part]) {
        let first = self.graph.next_task();
        dependents.iter().for_each(|part| self.add(part));
        let position = self.graph.next_event();
        let (mut triggers, mut is_remote) = (0, false);
        for part in producers {
            let is_put = self.operator(part.operator).task_type == PUT;
            is_remote |= is_put;
            for block in blocks_between(part.low, part.high) {
                let place = self.operator(part.operator).place(block);
                let others = (0..self.plan.ranks).filter(|&rank| rank != self.plan.rank);
                let ids = self.tasks[part.operator].get(place).cloned().unwrap_or_default();
                for (id, rank) in ids.into_iter().zip(others.chain([self.plan.rank])) {
                    let event = match is_put {
                        true => self.graph.remote_id(rank, position),
                        false => self.graph.event_id(position),
                    };
                    self.graph.set_trigger(id, event);
                    triggers += 1;
                }
            }
        }
        match is_remote {
            true => self.graph.tagged_event(triggers, first),
            false => self.graph.event(triggers, first),
        }
    }

    /// A fork with all its consumers (side 0), or a join with all its producers (side 1): an event for each of its slices.
    fn meet(&mut self, index: usize, side: usize, edges: &[&Edge]) {
        let grid = self.operator(index).grid;
        let Some(common) = edges.first().map(|edge| edge.steps(side, grid)) else { return };
        let slices = [0, 1, 2].map(|axis| grid[axis] / common[axis]);
        for place in blocks_between([0; 3], slices) {
            let own = [part(index, place, common)];
            let others: Vec<Part> = edges
                .iter()
                .map(|edge| {
                    let other = [edge.to, edge.from][side];
                    let steps = edge.steps(1 - side, self.operator(other).grid);
                    part(other, edge.across(side, place), steps)
                })
                .collect();
            if side == 0 { self.event(&others, &own) } else { self.event(&own, &others) }
        }
    }

    /// Two neighbours: an event for each slice of the tensor.
    fn chain(&mut self, edge: &Edge) {
        let slices: Vec<[i64; AXES]> =
            edge.slices.iter().enumerate().fold(vec![[0; AXES]], |all, (axis, &cuts)| {
                all.into_iter()
                    .flat_map(|slice| {
                        (0..cuts).map(move |number| {
                            let mut slice = slice;
                            slice[axis] = number;
                            slice
                        })
                    })
                    .collect()
            });
        for slice in slices {
            let side = |side: usize, operator: usize| {
                let place = edge.maps[side].map(|axis| axis.map_or(0, |axis| slice[axis]));
                part(operator, place, edge.steps(side, self.operator(operator).grid))
            };
            let (producers, dependents) = (side(0, edge.from), side(1, edge.to));
            self.event(&[dependents], &[producers]);
        }
    }
}

/// The blocks of a slice.
fn part(operator: usize, place: Block, steps: Block) -> Part {
    let low = [0, 1, 2].map(|axis| place[axis] * steps[axis]);
    Part { operator, low, high: [0, 1, 2].map(|axis| low[axis] + steps[axis]) }
}
