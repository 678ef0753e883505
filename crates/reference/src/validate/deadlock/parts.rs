//! Counters of which D06 leaves out some edges and keeps others, taken apart so that the graph needs no edge for each pair of tasks.
//!
//! Which edges D06 leaves out depends on the producer in two ways. Within a D04 cycle it leaves out those of the producers that lie on
//! the cycle themselves, so these have parts of their own. Where a waiter breaks D05, it leaves out those of the producers that stand
//! behind it in its queue; those that stand before it are put before it by the queue as well. So what is needed are the edges of all
//! producers that are not in the queue of the waiter. For that, the producers are in groups in a row: one for each queue with such a
//! waiter, and group 0 for all others. For each group there is a part to which it and the groups before it lead, and one to which it
//! and the groups after it lead; a waiter comes after the first of the group before its own and the second of the group after it.

use std::collections::{BTreeSet, HashMap};

use megakernel_ir::model::Program;
use megakernel_ir::{CounterId, TaskId};
use megakernel_order::Graph;

/// What a part of a counter leads to.
#[derive(Clone, Copy)]
pub(super) enum Successor {
    Part(u32),
    Waiter(TaskId),
}

/// The parts of all counters that are taken apart.
#[derive(Default)]
pub(super) struct Parts {
    parts: Vec<Vec<Successor>>,
    of_producer: HashMap<TaskId, [u32; 2]>,
}

impl Parts {
    /// Takes apart the counters on D04 cycles, and those with waiters that break D05.
    pub(super) fn new(
        program: &Program<'_>,
        graph: &Graph,
        on_cycle: &[u32],
        broken_by_queue: &BTreeSet<(CounterId, TaskId)>,
    ) -> Parts {
        let mut parts = Parts::default();
        let cyclic = CounterId::range(0..graph.counters()).filter(|counter| on_cycle[counter.index()] != 0);
        let split: BTreeSet<CounterId> =
            cyclic.chain(broken_by_queue.iter().map(|&(counter, _)| counter)).collect();
        if split.is_empty() {
            return parts;
        }
        let same_cycle = |counter: CounterId, other: CounterId| {
            let number = on_cycle[counter.index()];
            number != 0 && number == on_cycle[other.index()]
        };
        let mut chains: HashMap<CounterId, Chain> = HashMap::new();
        for counter in split {
            let waiters = graph.waiters(counter).iter().map(|&task| Waiter {
                task,
                is_on_cycle: same_cycle(counter, graph.out(task)),
                breaks_d05: program[task].sm.filter(|_| broken_by_queue.contains(&(counter, task))),
            });
            let waiters: Vec<Waiter> = waiters.collect();
            chains.insert(counter, parts.take_apart(&waiters));
        }
        for task in TaskId::range(0..graph.tasks()) {
            let out = graph.out(task);
            let Some(chain) = chains.get(&out) else { continue };
            let of_cycle = graph.waits(task).iter().any(|&wait| same_cycle(wait, out));
            let group = program[task].sm.map_or(0, |sm| chain.group(sm));
            let both = [chain.with_earlier(of_cycle, group), chain.with_later(of_cycle, group)];
            parts.of_producer.insert(task, both);
        }
        parts
    }

    /// The parts that a task leads to, if its counter is taken apart.
    pub(super) fn of_producer(&self, task: TaskId) -> Option<[u32; 2]> {
        self.of_producer.get(&task).copied()
    }

    pub(super) fn count(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn successors(&self, part: u32) -> &[Successor] {
        &self.parts[part as usize]
    }

    /// Makes the parts of a counter with these waiters.
    fn take_apart(&mut self, waiters: &[Waiter]) -> Chain {
        let queues: BTreeSet<i64> = waiters.iter().filter_map(|waiter| waiter.breaks_d05).collect();
        let chain = Chain { queues: queues.into_iter().collect(), first: self.parts.len() as u32 };
        let last = chain.queues.len();
        let is_cyclic = waiters.iter().any(|waiter| waiter.is_on_cycle);
        for of_cycle in [false, true].into_iter().filter(|&of_cycle| is_cyclic || !of_cycle) {
            for group in 0..=last {
                let next = (group < last).then(|| chain.with_earlier(of_cycle, group + 1));
                let before = (group > 0).then(|| chain.with_later(of_cycle, group - 1));
                // In the order of their numbers.
                for successor in [next, before] {
                    self.parts.push(successor.into_iter().map(Successor::Part).collect());
                }
            }
            for waiter in waiters.iter().filter(|waiter| !(of_cycle && waiter.is_on_cycle)) {
                let group = waiter.breaks_d05.map(|sm| chain.group(sm));
                let before = group.map_or(last, |group| group - 1);
                let after = group.map(|group| group + 1).filter(|&group| group <= last);
                let from = [
                    Some(chain.with_earlier(of_cycle, before)),
                    after.map(|group| chain.with_later(of_cycle, group)),
                ];
                for part in from.into_iter().flatten() {
                    self.parts[part as usize].push(Successor::Waiter(waiter.task));
                }
            }
        }
        chain
    }
}

/// A task that waits on a counter.
struct Waiter {
    task: TaskId,
    /// Whether it lies on the D04 cycle of the counter.
    is_on_cycle: bool,
    /// Its queue, if producers of the counter stand behind it there.
    breaks_d05: Option<i64>,
}

/// The parts of one counter: those of producers that are not on its D04 cycle, then those of producers that are.
struct Chain {
    /// The queues of the groups from 1 on, in order.
    queues: Vec<i64>,
    first: u32,
}

impl Chain {
    fn group(&self, sm: i64) -> usize {
        self.queues.binary_search(&sm).map_or(0, |index| index + 1)
    }

    /// The part of a group and of those before it.
    fn with_earlier(&self, of_cycle: bool, group: usize) -> u32 {
        let groups = self.queues.len() + 1;
        self.first + 2 * (usize::from(of_cycle) * groups + group) as u32
    }

    /// The part of a group and of those after it.
    fn with_later(&self, of_cycle: bool, group: usize) -> u32 {
        self.with_earlier(of_cycle, group) + 1
    }
}
