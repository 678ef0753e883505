//! D06 queue-cycle: waits and the order of the queues together form no cycle across SMs.

use std::collections::{BTreeSet, HashMap};

use megakernel_ir::diagnostic::{Before, CycleStep, Witness};
use megakernel_ir::model::Program;
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::cycles::{components, shortest_cycle};
use megakernel_order::{Findings, Graph};

use crate::validate::deadlock::d04::rotate_to_lowest;
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
    // A task leads to its counter and to the next task of its queue.
    let nodes = Nodes { tasks: graph.tasks() as u32 };
    let same_cycle = |counter: CounterId, task: TaskId| {
        let number = on_cycle[counter.index()];
        number != 0 && number == on_cycle[graph.out(task).index()]
    };
    let successors = |node: u32, index: usize| match nodes.at(node) {
        Node::Task(task) => {
            let counter = nodes.of(Node::Counter(graph.out(task)));
            let next = next_in_queue[task.index()].map(|next| nodes.of(Node::Task(next)));
            [Some(counter), next].into_iter().flatten().nth(index)
        }
        Node::Counter(counter) => {
            // An edge that is another rule's leads back to the counter, which adds nothing to any cycle.
            let task = *graph.waiters(counter).get(index)?;
            let taken = same_cycle(counter, task) || broken_by_queue.contains(&(counter, task));
            Some(if taken { node } else { nodes.of(Node::Task(task)) })
        }
    };
    let count = graph.tasks() + graph.counters();
    let names = Names::new(program);
    for component in components(count, successors) {
        findings.report(Rule::D06, || {
            let cycle = shortest_cycle(count, component[0], successors);
            let cycle: Vec<Node> = cycle.into_iter().map(|node| nodes.at(node)).collect();
            let steps = rotate_to_lowest(steps(program, &cycle));
            let involved: Vec<TaskId> = steps.iter().map(|step| step.task).collect();
            let first = involved.first().copied().unwrap_or_default();
            let message = format!(
                "{} and {} other tasks wait for each other in a cycle of waits and queue order",
                names.task(first),
                involved.len().saturating_sub(1),
            );
            Diagnostic::new(Rule::D06, format!("/tasks/{first}"), message)
                .counters(cycle.iter().filter_map(|node| match node {
                    Node::Counter(counter) => Some(*counter),
                    Node::Task(_) => None,
                }))
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
}

/// The nodes as numbers: the tasks, then the counters.
struct Nodes {
    tasks: u32,
}

impl Nodes {
    fn at(&self, number: u32) -> Node {
        match number.checked_sub(self.tasks) {
            None => Node::Task(TaskId::from(number)),
            Some(counter) => Node::Counter(CounterId::from(counter)),
        }
    }

    fn of(&self, node: Node) -> u32 {
        match node {
            Node::Task(task) => u32::from(task),
            Node::Counter(counter) => self.tasks + u32::from(counter),
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

/// The tasks of a cycle, each with what puts it before the next one.
fn steps(program: &Program<'_>, cycle: &[Node]) -> Vec<CycleStep> {
    let next = cycle.iter().cycle().skip(1);
    let steps = cycle.iter().zip(next).filter_map(|(&node, &next)| {
        let Node::Task(task) = node else { return None };
        let then = match next {
            Node::Counter(counter) => Before::Counter(counter),
            Node::Task(_) => Before::Queue(program[task].sm.unwrap_or_default()),
        };
        Some(CycleStep { task, then })
    });
    steps.collect()
}
