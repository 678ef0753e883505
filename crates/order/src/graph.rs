//! A program or task graph as dense arrays, and the order that its counters impose on its tasks. What is said of counters here
//! holds of the events of a task graph.
//!
//! Happens-before runs through counters: a task comes before every task that waits on its counter. So a task is, for
//! everything that comes after it, no more than the counter that it increments; the graph of counters, in which
//! every task adds an edge from each counter that it waits on to the one that it increments, holds the whole order.
//! Real programs have one counter for dozens of tiles, which makes that graph small.

use megakernel_ir::{CounterId, TaskId};

use crate::edges::Edges;

/// Who increments and who waits on each counter. Built only where every id is an index.
pub struct Graph {
    out: Vec<CounterId>,
    /// Number of producers of each counter.
    producers: Vec<u32>,
    wait_starts: Vec<u32>,
    wait_counters: Vec<CounterId>,
    waiter_starts: Vec<u32>,
    waiters: Vec<TaskId>,
}

impl Graph {
    /// The graph of tasks with these edges and of so many counters.
    pub fn new(edges: &Edges, counters: usize) -> Graph {
        let out = edges.out().to_vec();
        let mut producers = vec![0; counters];
        out.iter().for_each(|counter| producers[counter.index()] += 1);

        let mut wait_starts = Vec::with_capacity(out.len() + 1);
        let mut wait_counters = Vec::with_capacity(out.len());
        wait_starts.push(0);
        for (task, &own) in TaskId::range(0..out.len()).zip(&out) {
            let first = wait_counters.len();
            for &counter in edges.waits(task) {
                // A task never waits for itself to finish (D03), and two waits on one counter are one edge.
                let is_edge = counter != own && producers[counter.index()] > 0;
                if is_edge && !wait_counters[first..].contains(&counter) {
                    wait_counters.push(counter);
                }
            }
            wait_starts.push(wait_counters.len() as u32);
        }

        let mut waiter_starts = vec![0; counters + 1];
        wait_counters.iter().for_each(|counter| waiter_starts[counter.index() + 1] += 1);
        for counter in 0..counters {
            waiter_starts[counter + 1] += waiter_starts[counter];
        }
        let mut next = waiter_starts.clone();
        let mut waiters = vec![TaskId::default(); wait_counters.len()];
        for (task, ends) in TaskId::range(0..out.len()).zip(wait_starts.windows(2)) {
            for counter in &wait_counters[ends[0] as usize..ends[1] as usize] {
                let next = &mut next[counter.index()];
                waiters[*next as usize] = task;
                *next += 1;
            }
        }
        Graph { out, producers, wait_starts, wait_counters, waiter_starts, waiters }
    }

    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        self.out.len()
    }

    /// Number of counters.
    pub fn counters(&self) -> usize {
        self.producers.len()
    }

    /// The counter that a task increments.
    pub fn out(&self, task: TaskId) -> CounterId {
        self.out[task.index()]
    }

    /// How many tasks increment a counter.
    pub fn producers(&self, counter: CounterId) -> u32 {
        self.producers[counter.index()]
    }

    /// The counters that make a task wait for others, each once.
    pub fn waits(&self, task: TaskId) -> &[CounterId] {
        let task = task.index();
        &self.wait_counters[self.wait_starts[task] as usize..self.wait_starts[task + 1] as usize]
    }

    /// The tasks that wait on a counter, without its own producers, in list order.
    pub fn waiters(&self, counter: CounterId) -> &[TaskId] {
        let counter = counter.index();
        &self.waiters[self.waiter_starts[counter] as usize..self.waiter_starts[counter + 1] as usize]
    }

    /// Whether a wait of `later` names the counter of `earlier`: the commonest way to come before it.
    pub fn is_direct(&self, earlier: TaskId, later: TaskId) -> bool {
        earlier != later && self.waits(later).contains(&self.out(earlier))
    }
}

/// The counters in an order in which each comes after all that lead to it.
pub struct Order {
    /// Counter to its position; positions count from 1.
    position: Vec<u32>,
    /// The counters by position, without the gap at 0.
    sequence: Vec<CounterId>,
    /// The counters that lead straight to the one at each position, as positions.
    before_starts: Vec<u32>,
    before: Vec<u32>,
}

impl Order {
    /// The order, or nothing where the counters wait for each other in a cycle (D04).
    pub fn new(graph: &Graph) -> Option<Order> {
        let counters = graph.counters();
        let mut edges: Vec<(CounterId, CounterId)> = Vec::new();
        let mut last = None;
        for task in TaskId::range(0..graph.tasks()) {
            let (out, waits) = (graph.out(task), graph.waits(task));
            // Tiles stand side by side and share their edges.
            if last.replace((out, waits)) != Some((out, waits)) {
                edges.extend(waits.iter().map(|&wait| (wait, out)));
            }
        }
        edges.sort_unstable();
        edges.dedup();

        let mut open = vec![0u32; counters];
        edges.iter().for_each(|(_, to)| open[to.index()] += 1);
        let starts = starts(counters, edges.iter().map(|(from, _)| from.index()));
        let mut sequence: Vec<CounterId> =
            CounterId::range(0..counters).filter(|counter| open[counter.index()] == 0).collect();
        let mut next = 0;
        while next < sequence.len() {
            let from = sequence[next].index();
            next += 1;
            for &(_, to) in &edges[starts[from] as usize..starts[from + 1] as usize] {
                open[to.index()] -= 1;
                if open[to.index()] == 0 {
                    sequence.push(to);
                }
            }
        }
        if sequence.len() < counters {
            return None;
        }
        let mut position = vec![0; counters];
        for (index, &counter) in sequence.iter().enumerate() {
            position[counter.index()] = index as u32 + 1;
        }
        let mut by_target: Vec<(u32, u32)> =
            edges.iter().map(|(from, to)| (position[to.index()], position[from.index()])).collect();
        by_target.sort_unstable();
        let before_starts = self::starts(counters + 1, by_target.iter().map(|&(to, _)| to as usize));
        let before = by_target.into_iter().map(|(_, from)| from).collect();
        Some(Order { position, sequence, before_starts, before })
    }

    /// Position of a counter, from 1 to their number.
    pub fn position(&self, counter: CounterId) -> u32 {
        self.position[counter.index()]
    }

    /// The counters by position.
    pub fn sequence(&self) -> &[CounterId] {
        &self.sequence
    }

    /// The positions that lead straight to this one.
    pub fn before(&self, position: u32) -> &[u32] {
        let position = position as usize;
        &self.before[self.before_starts[position] as usize..self.before_starts[position + 1] as usize]
    }

    /// A number that grows along happens-before: if `a` happens before `b`, the rank of `a` is lower.
    pub fn rank(&self, graph: &Graph, task: TaskId) -> u32 {
        graph.waits(task).iter().map(|&wait| self.position(wait)).max().unwrap_or(0)
    }
}

/// Where each key's run begins in a list that is sorted by keys below `keys`; one more entry ends the last run.
fn starts(keys: usize, sorted: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut starts = vec![0; keys + 1];
    sorted.for_each(|key| starts[key + 1] += 1);
    for key in 0..keys {
        starts[key + 1] += starts[key];
    }
    starts
}
