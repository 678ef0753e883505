//! D06 queue-cycle: waits and the order of the queues together form no cycle across SMs.

use std::collections::{BTreeSet, HashMap};

use megakernel_ir::diagnostic::{Before, CycleStep, Witness};
use megakernel_ir::model::Program;
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::cycles::{components, shortest_cycle};
use megakernel_order::{Findings, Graph};

use crate::validate::deadlock::parts::{Parts, Successor};
use crate::validate::describe::Names;

/// Judges the rule on the edges that neither D04 nor D05 has taken.
pub(super) fn check(
    program: &Program<'_>,
    graph: &Graph,
    on_cycle: &[u32],
    broken_by_queue: &BTreeSet<(CounterId, TaskId)>,
    findings: &mut Findings,
) {
    let next_in_queue = queues(program);
    let parts = Parts::new(program, graph, on_cycle, broken_by_queue);
    let nodes = Nodes { tasks: graph.tasks() as u32, counters: graph.counters() as u32 };
    // A task leads to its counter, or to parts of it, and to the next task of its queue.
    let successors = |node: u32, index: usize| match nodes.at(node) {
        Node::Task(task) => {
            let next = next_in_queue[task.index()].map(|next| nodes.of(Node::Task(next)));
            let ways = match parts.of_producer(task) {
                None => [Some(nodes.of(Node::Counter(graph.out(task)))), next, None],
                Some([one, other]) => {
                    [Some(nodes.of(Node::Part(one))), Some(nodes.of(Node::Part(other))), next]
                }
            };
            ways.into_iter().flatten().nth(index)
        }
        Node::Counter(counter) => graph.waiters(counter).get(index).map(|&task| nodes.of(Node::Task(task))),
        Node::Part(part) => Some(match *parts.successors(part).get(index)? {
            Successor::Part(part) => nodes.of(Node::Part(part)),
            Successor::Waiter(task) => nodes.of(Node::Task(task)),
        }),
    };
    let count = graph.tasks() + graph.counters() + parts.count();
    let names = Names::new(program);
    for component in components(count, successors) {
        findings.report(Rule::D06, || {
            // From its lowest task on: tasks have the lowest numbers, and no cycle is without one.
            let cycle = shortest_cycle(count, component[0], successors);
            let next = cycle.iter().cycle().skip(1);
            let steps = cycle.iter().zip(next).filter_map(|(&node, &next)| {
                let Node::Task(task) = nodes.at(node) else { return None };
                let then = match nodes.at(next) {
                    Node::Task(_) => Before::Queue(program[task].sm.unwrap_or_default()),
                    Node::Counter(_) | Node::Part(_) => Before::Counter(graph.out(task)),
                };
                Some(CycleStep { task, then })
            });
            let steps: Vec<CycleStep> = steps.collect();
            let involved: Vec<TaskId> = steps.iter().map(|step| step.task).collect();
            let first = involved.first().copied().unwrap_or_default();
            let message = format!(
                "{} and {} other tasks wait for each other in a cycle of waits and queue order",
                names.task(first),
                involved.len().saturating_sub(1),
            );
            let counters = steps.iter().filter_map(|step| match step.then {
                Before::Counter(counter) => Some(counter),
                Before::Queue(_) => None,
            });
            Diagnostic::new(Rule::D06, format!("/tasks/{first}"), message)
                .counters(counters)
                .tasks(involved)
                .witness(Witness::Cycle { steps })
        });
    }
}

/// A node of the graph of waits and queues.
#[derive(Clone, Copy)]
enum Node {
    Task(TaskId),
    Counter(CounterId),
    Part(u32),
}

/// The nodes as numbers: the tasks, the counters, then the parts of counters.
struct Nodes {
    tasks: u32,
    counters: u32,
}

impl Nodes {
    fn at(&self, number: u32) -> Node {
        match number.checked_sub(self.tasks) {
            None => Node::Task(TaskId::from(number)),
            Some(counter) if counter < self.counters => Node::Counter(CounterId::from(counter)),
            Some(part) => Node::Part(part - self.counters),
        }
    }

    fn of(&self, node: Node) -> u32 {
        match node {
            Node::Task(task) => u32::from(task),
            Node::Counter(counter) => self.tasks + u32::from(counter),
            Node::Part(part) => self.tasks + self.counters + part,
        }
    }
}

/// The next task of each task's queue.
fn queues(program: &Program<'_>) -> Vec<Option<TaskId>> {
    let mut next = vec![None; program.tasks.len()];
    let mut last: HashMap<i64, TaskId> = HashMap::new();
    for (id, task) in program.tasks_by_id() {
        let Some(sm) = task.sm else { continue };
        if let Some(before) = last.insert(sm, id) {
            next[before.index()] = Some(id);
        }
    }
    next
}
