//! Happens-before of phases (clause SCH-08), as a graph of [`megakernel_order`]: phases are its tasks, and so are joins, which stand for
//! all the signals that a wait has seen.

use std::collections::HashMap;

use megakernel_order::{Edges, Graph};

use crate::ids::{Node, PhaseId};
use crate::world::{Count, World};

/// Signals that a join takes by itself.
const FAN_IN: usize = 32;

/// What comes straight before each phase.
pub struct Before {
    /// For each phase: the phase before it in its task, and the last one of the task before it in its queue.
    pub program: Vec<[Option<PhaseId>; 2]>,
    /// For each wait, in the order of all waits: the node of the signals that it has seen.
    pub wait: Vec<Option<Node>>,
    /// What comes before each join; joins are numbered on from the phases.
    joins: Vec<Vec<Node>>,
}

/// The signals of each event: phase and amount, in the order of the phases.
pub fn signals(world: &World<'_>) -> Vec<Vec<(PhaseId, u64)>> {
    let mut signals: Vec<Vec<(PhaseId, u64)>> = vec![Vec::new(); world.events.len()];
    for phase in world.phase_ids() {
        for &Count { event, number } in world.signals.of(phase) {
            let list = &mut signals[event.index()];
            match list.last_mut() {
                Some((last, amount)) if *last == phase => *amount += number,
                _ => list.push((phase, number)),
            }
        }
    }
    signals
}

impl Before {
    /// What the memory order of the document makes of queues, signals and waits.
    pub fn new(world: &World<'_>, signals: &[Vec<(PhaseId, u64)>]) -> Before {
        let mut before =
            Before { program: program(world), wait: vec![None; world.waits.all().len()], joins: Vec::new() };
        let memory = world.document.memory;
        if !memory.signal || !memory.wait {
            return before;
        }
        let mut waits: Vec<Vec<(u64, usize)>> = vec![Vec::new(); world.events.len()];
        for (index, wait) in world.waits.all().iter().enumerate() {
            waits[wait.event.index()].push((wait.number, index));
        }
        for (waits, signals) in waits.iter_mut().zip(signals) {
            waits.sort_unstable();
            let total: u64 = signals.iter().map(|(_, amount)| amount).sum();
            let mut largest = signals.clone();
            largest.sort_unstable_by_key(|&(phase, amount)| (std::cmp::Reverse(amount), phase));
            // A higher count has seen all that a lower one has, and perhaps more.
            let (mut taken, mut seen): (usize, Option<Node>) = (0, None);
            for &mut (count, index) in waits {
                let more = largest[taken..].iter().take_while(|(_, amount)| total - amount < count);
                let more: Vec<Node> = more.map(|&(phase, _)| phase.into()).collect();
                taken += more.len();
                if !more.is_empty() {
                    let all = seen.into_iter().chain(more).collect();
                    seen = Some(before.join(world.phases(), all));
                }
                before.wait[index] = seen;
            }
        }
        before
    }

    /// A node after all of these.
    fn join(&mut self, phases: usize, mut nodes: Vec<Node>) -> Node {
        while nodes.len() > 1 {
            let mut above = Vec::with_capacity(nodes.len() / FAN_IN + 1);
            for some in nodes.chunks(FAN_IN) {
                above.push(Node::at(phases + self.joins.len()));
                self.joins.push(some.to_vec());
            }
            nodes = above;
        }
        nodes.first().copied().unwrap_or_default()
    }

    /// All that comes straight before a phase, each once.
    pub fn of(&self, world: &World<'_>, phase: PhaseId) -> Vec<Node> {
        let mut nodes: Vec<Node> = self.each_before_phase(world, phase).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// All that comes straight before a phase, some of it perhaps twice.
    pub fn each_before_phase(&self, world: &World<'_>, phase: PhaseId) -> impl Iterator<Item = Node> {
        let program = self.program[phase.index()].iter().flatten().map(|&phase| phase.into());
        program.chain(self.wait[world.waits.range(phase)].iter().flatten().copied())
    }

    /// All that comes straight before a node, some of it perhaps twice.
    pub fn each_before(&self, world: &World<'_>, node: Node) -> impl Iterator<Item = Node> {
        let (program, seen) = match world.as_phase(node) {
            Ok(phase) => (&self.program[phase.index()][..], &self.wait[world.waits.range(phase)]),
            Err(_) => (&[][..], &[][..]),
        };
        let joined = world.as_phase(node).err().map_or(&[][..], |join| &self.joins[join][..]);
        let program = program.iter().flatten().map(|&phase| phase.into());
        program.chain(seen.iter().flatten().copied()).chain(joined.iter().copied())
    }

    /// All that comes straight before a node.
    pub fn straight_before(&self, world: &World<'_>, node: Node) -> Vec<Node> {
        match world.as_phase(node) {
            Ok(phase) => self.of(world, phase),
            Err(join) => self.joins[join].clone(),
        }
    }

    /// The graph: a node is a task with a counter of its own.
    pub fn graph(&self, world: &World<'_>) -> Graph {
        let nodes = world.phases() + self.joins.len();
        let mut edges = Edges::with_capacity(nodes);
        for phase in world.phase_ids() {
            edges.push(Node::from(phase).counter(), self.of(world, phase).into_iter().map(Node::counter));
        }
        for (join, nodes) in Node::range(world.phases()..nodes).zip(&self.joins) {
            edges.push(join.counter(), nodes.iter().map(|node| node.counter()));
        }
        Graph::new(&edges, nodes)
    }
}

fn program(world: &World<'_>) -> Vec<[Option<PhaseId>; 2]> {
    let mut program = vec![[None; 2]; world.phases()];
    let mut last: HashMap<i128, PhaseId> = HashMap::new();
    for task in &world.tasks {
        for (phase, before) in task.each_phase().skip(1).zip(task.each_phase()) {
            program[phase.index()][0] = Some(before);
        }
        let queue = world.in_order(task).filter(|_| world.document.memory.queue);
        if let Some((queue, end)) = queue.zip(task.last_phase()) {
            program[task.phases.start.index()][1] = last.insert(queue, end);
        }
    }
    program
}
