//! Happens-before of phases (clause SCH-08), as a graph of [`megakernel_order`]: phases are its tasks, and so are joins, which stand for
//! all the signals that a wait has seen.

use std::collections::HashMap;

use megakernel_ir::CounterId;
use megakernel_order::{Edges, Graph};

use crate::world::{Count, World};

/// Signals that a join takes by itself.
const FAN_IN: usize = 32;

/// What comes straight before each phase.
pub struct Before {
    /// For each phase: the phase before it in its task, and the last one of the task before it in its queue.
    pub program: Vec<[Option<u32>; 2]>,
    /// For each wait, in the order of all waits: the node of the signals that it has seen.
    pub wait: Vec<Option<u32>>,
    /// What comes before each join; joins are numbered on from the phases.
    joins: Vec<Vec<u32>>,
}

/// The signals of each event: phase and amount, in the order of the phases.
pub fn signals(world: &World<'_>) -> Vec<Vec<(u32, u64)>> {
    let mut signals: Vec<Vec<(u32, u64)>> = vec![Vec::new(); world.events.len()];
    for phase in 0..world.phases() {
        for &Count { event, number } in world.signals.of(phase) {
            let list = &mut signals[event as usize];
            match list.last_mut() {
                Some((last, amount)) if *last as usize == phase => *amount += number,
                _ => list.push((phase as u32, number)),
            }
        }
    }
    signals
}

impl Before {
    /// What the memory order of the document makes of queues, signals and waits.
    pub fn new(world: &World<'_>, signals: &[Vec<(u32, u64)>]) -> Before {
        let mut before =
            Before { program: program(world), wait: vec![None; world.waits.all().len()], joins: Vec::new() };
        let memory = world.document.memory;
        if !memory.signal || !memory.wait {
            return before;
        }
        let mut waits: Vec<Vec<(u64, usize)>> = vec![Vec::new(); world.events.len()];
        for (index, wait) in world.waits.all().iter().enumerate() {
            waits[wait.event as usize].push((wait.number, index));
        }
        for (waits, signals) in waits.iter_mut().zip(signals) {
            waits.sort_unstable();
            let total: u64 = signals.iter().map(|(_, amount)| amount).sum();
            let mut largest = signals.clone();
            largest.sort_unstable_by_key(|&(phase, amount)| (std::cmp::Reverse(amount), phase));
            // A higher count has seen all that a lower one has, and perhaps more.
            let (mut taken, mut seen): (usize, Option<u32>) = (0, None);
            for &mut (count, index) in waits {
                let more = largest[taken..].iter().take_while(|(_, amount)| total - amount < count);
                let more: Vec<u32> = more.map(|&(phase, _)| phase).collect();
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
    fn join(&mut self, phases: usize, mut nodes: Vec<u32>) -> u32 {
        while nodes.len() > 1 {
            let mut above = Vec::with_capacity(nodes.len() / FAN_IN + 1);
            for some in nodes.chunks(FAN_IN) {
                above.push((phases + self.joins.len()) as u32);
                self.joins.push(some.to_vec());
            }
            nodes = above;
        }
        nodes.first().copied().unwrap_or(0)
    }

    /// All that comes straight before a phase, each once.
    pub fn of(&self, world: &World<'_>, phase: usize) -> Vec<u32> {
        let waits = self.wait[world.waits.range(phase)].iter();
        let mut nodes: Vec<u32> = self.program[phase].iter().chain(waits).flatten().copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// All that comes straight before a node, a phase or a join, some of it perhaps twice.
    pub fn each_before(&self, world: &World<'_>, node: u32) -> impl Iterator<Item = u32> {
        let node = node as usize;
        let (seen, joined) = match node.checked_sub(world.phases()) {
            None => ([&self.program[node][..], &self.wait[world.waits.range(node)]], &[][..]),
            Some(join) => ([&[][..], &[][..]], &self.joins[join][..]),
        };
        seen.into_iter().flatten().flatten().chain(joined).copied()
    }

    /// All that comes straight before a node, a phase or a join.
    pub fn straight_before(&self, world: &World<'_>, node: u32) -> Vec<u32> {
        match (node as usize).checked_sub(world.phases()) {
            None => self.of(world, node as usize),
            Some(join) => self.joins[join].clone(),
        }
    }

    /// The graph: a node is a task with a counter of its own.
    pub fn graph(&self, world: &World<'_>) -> Graph {
        let nodes = world.phases() + self.joins.len();
        let mut edges = Edges::with_capacity(nodes);
        for phase in 0..world.phases() {
            edges.push(CounterId::at(phase), self.of(world, phase).into_iter().map(CounterId::from));
        }
        for (index, join) in self.joins.iter().enumerate() {
            edges.push(CounterId::at(world.phases() + index), join.iter().map(|&node| node.into()));
        }
        Graph::new(&edges, nodes)
    }
}

fn program(world: &World<'_>) -> Vec<[Option<u32>; 2]> {
    let mut program = vec![[None; 2]; world.phases()];
    let mut last: HashMap<i128, u32> = HashMap::new();
    for task in &world.tasks {
        for phase in task.phases.clone().skip(1) {
            program[phase as usize][0] = Some(phase - 1);
        }
        let queue = world.in_order(task);
        if let Some(queue) = queue.filter(|_| world.document.memory.queue && !task.phases.is_empty()) {
            program[task.phases.start as usize][1] = last.insert(queue, task.phases.end - 1);
        }
    }
    program
}
