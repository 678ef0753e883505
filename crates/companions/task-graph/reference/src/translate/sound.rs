//! A graph that breaks no rule, of any operators (clause TGR-17): whoever conflicts is ordered as the operators are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use megakernel_ir::Diagnostic;
use megakernel_task_graph::TaskGraph;

use super::assemble::{Assembly, copy, reduce};
use super::events::{EventIndex, Events, Kind, NONE, NodeId};
use super::history::{Access, History, Place, accesses};
use super::plan::{Operator, Plan};
use super::suitable;

/// Translates, or says what stands against it.
pub fn translate<'a>(plan: &Plan<'a>) -> Result<TaskGraph<'a>, Vec<Diagnostic>> {
    let found = suitable::check(plan);
    if !found.is_empty() {
        return Err(found);
    }
    let mut order = Order::new(plan);
    for (index, operator) in plan.operators.iter().enumerate() {
        order.operator(index, operator);
    }
    Ok(graph(plan, order.events))
}

/// The order of tasks while it grows, operator by operator.
struct Order<'p, 'a> {
    plan: &'p Plan<'a>,
    events: Events,
    /// By tensor.
    histories: Vec<History>,
    /// By tensor, the last operator that writes it.
    last_write: Vec<Option<usize>>,
    /// The all-reduce before, if there was one.
    reduced: Option<Reduced<'p>>,
    /// The partial sum of the last all-reduce of all.
    last_partial: Option<usize>,
}

/// An all-reduce whose copies to other ranks may still be reading.
struct Reduced<'p> {
    operator: &'p Operator,
    /// Its REDUCE tasks, by place of their block.
    tasks: Vec<NodeId>,
    /// Its partial sum, which nobody writes before the next all-reduce.
    partial: usize,
}

impl<'p, 'a> Order<'p, 'a> {
    fn new(plan: &'p Plan<'a>) -> Order<'p, 'a> {
        let mut last_write = vec![None; plan.tensors.len()];
        for (index, operator) in plan.operators.iter().enumerate() {
            for access in accesses(plan, operator).iter().filter(|access| access.writes) {
                last_write[access.tensor] = Some(index);
            }
        }
        let last = plan.operators.iter().filter_map(Operator::all_reduce).next_back();
        Order {
            plan,
            events: Events::default(),
            histories: plan.tensors.iter().map(|_| History::default()).collect(),
            last_write,
            reduced: None,
            last_partial: last.map(|[partial, ..]| partial.tensor),
        }
    }

    fn operator(&mut self, index: usize, operator: &'p Operator) {
        // What nobody writes needs no order.
        let mut accesses = accesses(self.plan, operator);
        accesses.retain(|access| self.last_write[access.tensor].is_some());
        let first = self.events.nodes.len();
        let after_reduce =
            accesses.iter().any(|access| access.writes && Some(access.tensor) == self.last_partial);
        let mut tasks = Vec::new();
        for (place, block) in operator.blocks().enumerate() {
            let mut before = Vec::new();
            for access in &mut accesses {
                let tile = access.tile(block);
                if access.known[tile].is_none() {
                    let found = self.histories[access.tensor].before(access, block, &mut self.events);
                    access.known[tile] = Some(found);
                }
                before.extend(access.known[tile].iter().flatten());
            }
            let is_all_reduce = operator.all_reduce().is_some();
            let tells = |order: &Self, event: &EventIndex| order.events.events[event.index()].after_reduce;
            if let Some(reduced) = &self.reduced {
                let mut others = Vec::new();
                if is_all_reduce {
                    others = reduced.blocks_for(place, operator.blocks_count());
                } else if after_reduce {
                    self.events.distinct(&mut before);
                    if !before.iter().any(|event| tells(self, event)) {
                        others.push(reduced.tasks[place % reduced.tasks.len()]);
                    }
                }
                before.extend(self.events.heads(&others));
            }
            let tail = self.events.meet(before);
            tasks.push(self.task(index, place, tail, is_all_reduce));
        }
        self.events.seal(first);
        self.note(index, operator, &accesses, tasks);
    }

    /// Adds the task of a block. Of an all-reduce that is the one that adds up, behind its copies.
    fn task(&mut self, operator: usize, place: usize, tail: EventIndex, is_all_reduce: bool) -> NodeId {
        let (operator, place) = (operator as u32, place as u32);
        if !is_all_reduce {
            return self.events.node(operator, place, tail, Kind::Plain);
        }
        let copies = self.events.node(operator, place, tail, Kind::Copies);
        let copied = self.events.event(&[copies]);
        self.events.node(operator, place, copied, Kind::Reduce)
    }

    /// Notes the accesses of an operator for those that follow.
    fn note(&mut self, index: usize, operator: &'p Operator, accesses: &[Access<'_>], tasks: Vec<NodeId>) {
        if let Some([partial, ..]) = operator.all_reduce() {
            let next = Reduced { operator, tasks: tasks.clone(), partial: partial.tensor };
            if let Some(before) = self.reduced.replace(next) {
                self.release(index, &before, &tasks);
            }
        }
        let written: Vec<usize> =
            accesses.iter().filter(|access| access.writes).map(|access| access.tensor).collect();
        for access in accesses {
            let later = self.last_write[access.tensor].is_some_and(|last| last > index);
            let noted = if access.writes { true } else { later && !written.contains(&access.tensor) };
            if noted {
                self.histories[access.tensor].note(access, operator.blocks(), &tasks);
            }
        }
    }

    /// From the next all-reduce on, somebody on this rank comes after the copies of the one before: its REDUCE of the block
    /// whose copies, on the ranks that were copied to, come after what was added up there.
    fn release(&mut self, index: usize, before: &Reduced<'p>, tasks: &[NodeId]) {
        let later = self.last_write[before.partial].is_some_and(|last| last > index);
        let Some([partial, ..]) = before.operator.all_reduce().filter(|_| later) else { return };
        let access = Access::new(before.partial, false, Place::Input(0), Some(partial));
        let waiting: Vec<NodeId> = (0..before.tasks.len()).map(|place| tasks[place % tasks.len()]).collect();
        self.histories[before.partial].note(&access, before.operator.blocks(), &waiting);
    }
}

impl Reduced<'_> {
    /// The REDUCE tasks that the copies of a block of the next all-reduce wait for: each by some block, and some by each.
    fn blocks_for(&self, place: usize, blocks: usize) -> Vec<NodeId> {
        let mut places: Vec<usize> = (place..self.tasks.len()).step_by(blocks.max(1)).collect();
        places.push(place % self.tasks.len());
        places.iter().map(|&place| self.tasks[place]).collect()
    }
}

/// Numbers events and tasks so that those that wait for an event follow each other, and come after all that trigger it.
fn graph<'a>(plan: &Plan<'a>, order: Events) -> TaskGraph<'a> {
    let mut numbered = Numbered {
        plan,
        graph: Assembly::new(plan.rank),
        missing: vec![0; order.events.len()],
        ready: BinaryHeap::new(),
        pending: vec![Vec::new(); order.events.len()],
        last: Vec::new(),
        order: &order,
    };
    let waits = |node: NodeId| order.nodes[node.index()].tail != NONE;
    let all = EventIndex::range(0..order.events.len()).zip(&order.events);
    for (event, found) in all.filter(|(_, event)| !event.dependents.is_empty()) {
        numbered.missing[event.index()] = found.producers.iter().filter(|&&node| waits(node)).count();
        numbered.enqueue(event);
    }
    let first: Vec<NodeId> = NodeId::range(0..order.nodes.len()).filter(|&node| !waits(node)).collect();
    numbered.add(&first);
    while let Some(Reverse((_, event))) = numbered.ready.pop() {
        numbered.event(event);
    }
    let last = std::mem::take(&mut numbered.last);
    numbered.graph.finish(&last)
}

struct Numbered<'o, 'p, 'a> {
    plan: &'p Plan<'a>,
    graph: Assembly<'a>,
    order: &'o Events,
    /// By event: producers that have no id yet and wait for something themselves.
    missing: Vec<usize>,
    /// Events all of whose producers have ids; the one with the earliest dependent comes first.
    ready: BinaryHeap<Reverse<(NodeId, EventIndex)>>,
    /// By event: the ids of those that trigger it, with the rank that a copy goes to.
    pending: Vec<Vec<(usize, Option<i64>)>>,
    /// Tasks that trigger the end.
    last: Vec<usize>,
}

impl Numbered<'_, '_, '_> {
    fn enqueue(&mut self, event: EventIndex) {
        if self.missing[event.index()] == 0 {
            let earliest = self.order.events[event.index()]
                .dependents
                .iter()
                .min()
                .copied()
                .unwrap_or(NodeId::at(usize::MAX));
            self.ready.push(Reverse((earliest, event)));
        }
    }

    fn event(&mut self, event: EventIndex) {
        let position = self.graph.next_event();
        let triggers = std::mem::take(&mut self.pending[event.index()]);
        for &(task, target) in &triggers {
            let id = target
                .map_or_else(|| self.graph.event_id(position), |rank| self.graph.remote_id(rank, position));
            self.graph.set_trigger(task, id);
        }
        let first = self.graph.next_task();
        let mut dependents = self.order.events[event.index()].dependents.clone();
        dependents.sort_unstable();
        self.add(&dependents);
        self.graph.event(triggers.len() as i64, first);
        for node in dependents {
            let head = self.order.nodes[node.index()].head;
            if let Some(missing) = self.missing.get_mut(head.index()) {
                *missing -= 1;
                self.enqueue(head);
            }
        }
    }

    /// Gives ids to tasks, in this order.
    fn add(&mut self, nodes: &[NodeId]) {
        for &node in nodes {
            let node = self.order.nodes[node.index()];
            let operator = &self.plan.operators[node.operator as usize];
            let block = operator.block(node.place);
            let head = node.head.index();
            match (node.kind, operator.all_reduce()) {
                (Kind::Copies, Some(operands)) => {
                    for target in 0..self.plan.ranks {
                        let task = self.graph.push(copy(self.plan, operands, block));
                        self.pending[head].push((task, Some(target)));
                    }
                }
                (kind, operands) => {
                    let task = match operands.filter(|_| kind == Kind::Reduce) {
                        Some(operands) => reduce(self.plan, operands, block),
                        None => self.plan.task(operator, block),
                    };
                    let task = self.graph.push(task);
                    match self.pending.get_mut(head) {
                        Some(pending) => pending.push((task, None)),
                        None => self.last.push(task),
                    }
                }
            }
        }
    }
}
