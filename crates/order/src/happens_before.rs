//! Answers to many questions of the form "does task a happen before task b" (clause EXE-05).
//!
//! A set of ancestors per task would need memory quadratic in the program. Here the questions are collected first and
//! answered in batches: the counters that questions start from are taken [`LANES`] at a time in topological order, a
//! bit for each is pushed forward through the graph of counters, and every question of the batch reads its bit. Memory
//! is linear. A batch visits no more than the positions between its first source and its last sink, which for the
//! layered programs of real models is a short stretch; at worst the time is counters / [`LANES`] times the edges of
//! the counter graph.

use std::ops::RangeInclusive;

use megakernel_ir::{CounterId, TaskId};

use crate::graph::{Graph, Order};

const WORDS: usize = 8;
/// Sources that one batch follows.
pub const LANES: usize = WORDS * 64;
/// A bit for each of [`LANES`] tasks.
pub type Bits = [u64; WORDS];

/// The happens-before relation of an acyclic program.
pub struct HappensBefore<'g> {
    graph: &'g Graph,
    order: &'g Order,
}

/// A question: does `earlier` happen before `later`?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// A task.
    pub earlier: TaskId,
    /// Another task.
    pub later: TaskId,
}

impl<'g> HappensBefore<'g> {
    /// The relation that the counters of the graph impose.
    pub fn new(graph: &'g Graph, order: &'g Order) -> HappensBefore<'g> {
        HappensBefore { graph, order }
    }

    /// The dense arrays of the program.
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// The counters in an order in which each comes after all that lead to it.
    pub fn sequence(&self) -> &'g [CounterId] {
        self.order.sequence()
    }

    /// The positions between which the tasks stand: of the counters that they wait on and increment.
    pub fn positions(&self, tasks: impl Iterator<Item = TaskId>) -> RangeInclusive<u32> {
        let (mut first, mut last) = (u32::MAX, 0);
        for task in tasks {
            let counters = self.graph.waits(task).iter().copied().chain([self.graph.out(task)]);
            for position in counters.map(|counter| self.order.position(counter)) {
                (first, last) = (first.min(position), last.max(position));
            }
        }
        first.min(last)..=last
    }

    /// See [`Order::rank`].
    pub fn rank(&self, task: TaskId) -> u32 {
        self.order.rank(self.graph, task)
    }

    /// The answer where it needs no search: a direct wait, or an order that the ranks exclude.
    pub fn quick(&self, question: Question) -> Option<bool> {
        let Question { earlier, later } = question;
        if earlier == later {
            return Some(false);
        }
        if self.graph.is_direct(earlier, later) {
            return Some(true);
        }
        let reachable = self.order.position(self.graph.out(earlier)) < self.rank(later);
        (!reachable).then_some(false)
    }

    /// The answers, in the order of the questions.
    pub fn answer(&self, questions: &[Question]) -> Vec<bool> {
        let mut answers = vec![false; questions.len()];
        // (position of the source, index of the question), for those that need a search.
        let mut open: Vec<(u32, u32)> = Vec::new();
        for (index, &question) in questions.iter().enumerate() {
            match self.quick(question) {
                Some(answer) => answers[index] = answer,
                None => open.push((self.order.position(self.graph.out(question.earlier)), index as u32)),
            }
        }
        open.sort_unstable();
        let mut reached =
            vec![Bits::default(); if open.is_empty() { 0 } else { self.order.sequence().len() + 1 }];
        let mut rest = &open[..];
        while !rest.is_empty() {
            rest = self.batch(rest, questions, &mut answers, &mut reached);
        }
        answers
    }

    /// Answers the questions of the first [`LANES`] sources; gives back the others. `reached` is zero before and after.
    fn batch<'q>(
        &self,
        open: &'q [(u32, u32)],
        questions: &[Question],
        answers: &mut [bool],
        reached: &mut [Bits],
    ) -> &'q [(u32, u32)] {
        let first = open[0].0;
        let (mut lanes, mut last_source, mut last_sink, mut taken) = (0usize, 0u32, first, 0usize);
        for &(source, question) in open {
            if source != last_source {
                if lanes == LANES {
                    break;
                }
                reached[source as usize][lanes / 64] |= 1 << (lanes % 64);
                last_source = source;
                lanes += 1;
            }
            last_sink = last_sink.max(self.rank(questions[question as usize].later));
            taken += 1;
        }
        let (batch, rest) = open.split_at(taken);

        for position in first..=last_sink {
            let mut bits = reached[position as usize];
            for &before in self.order.before(position) {
                if before >= first {
                    unite(&mut bits, &reached[before as usize]);
                }
            }
            reached[position as usize] = bits;
        }

        let (mut lane, mut last_source) = (0usize, first);
        for &(source, question) in batch {
            if source != last_source {
                last_source = source;
                lane += 1;
            }
            let later = questions[question as usize].later;
            answers[question as usize] = self.graph.waits(later).iter().any(|&wait| {
                let bits = &reached[self.order.position(wait) as usize];
                bits[lane / 64] & (1 << (lane % 64)) != 0
            });
        }
        reached[first as usize..=last_sink.max(last_source) as usize].fill(Bits::default());
        rest
    }
}

/// What comes before and after each of a few tasks.
pub struct Around<'h, 'g> {
    order: &'h HappensBefore<'g>,
    /// The position at which the sets begin.
    first: u32,
    /// By position: the tasks that lead to it, and those that it leads to.
    after: Vec<Bits>,
    before: Vec<Bits>,
}

impl<'h, 'g> Around<'h, 'g> {
    /// Of at most [`LANES`] tasks, to be compared with others that take part only in these positions: the step is the same
    /// for one task and for many.
    pub fn new(
        order: &'h HappensBefore<'g>,
        tasks: &[TaskId],
        positions: RangeInclusive<u32>,
    ) -> Around<'h, 'g> {
        let (first, last) = (*positions.start(), *positions.end());
        let none = vec![Bits::default(); (last.saturating_sub(first) + 1) as usize];
        let mut around = Around { order, first, after: none.clone(), before: none };
        let index = |position: u32| position.checked_sub(first).map(|index| index as usize);
        for (lane, &task) in tasks.iter().enumerate().take(LANES) {
            let set = |bits: &mut Vec<Bits>, counter: CounterId| {
                if let Some(bits) = index(order.order.position(counter)).and_then(|index| bits.get_mut(index))
                {
                    bits[lane / 64] |= 1 << (lane % 64);
                }
            };
            set(&mut around.after, order.graph.out(task));
            order.graph.waits(task).iter().for_each(|&wait| set(&mut around.before, wait));
        }
        for position in first..=last {
            let here = (position - first) as usize;
            for from in order.order.before(position).iter().filter_map(|&before| index(before)) {
                let bits = around.after[from];
                unite(&mut around.after[here], &bits);
            }
        }
        for position in (first..=last).rev() {
            let bits = around.before[(position - first) as usize];
            for to in order.order.before(position).iter().filter_map(|&before| index(before)) {
                unite(&mut around.before[to], &bits);
            }
        }
        around
    }

    /// A bit for each of the tasks: set if it is neither before nor after this one.
    pub fn unordered(&self, task: TaskId) -> Bits {
        let mut ordered = self.after(task);
        unite(&mut ordered, &self.before(task));
        ordered.map(|word| !word)
    }

    /// A bit for each of the tasks: set if it happens before this one.
    pub fn before(&self, task: TaskId) -> Bits {
        let mut bits = Bits::default();
        for &wait in self.order.graph.waits(task) {
            unite(&mut bits, &self.at(&self.after, wait));
        }
        bits
    }

    /// A bit for each of the tasks: set if this one happens before it.
    pub fn after(&self, task: TaskId) -> Bits {
        self.at(&self.before, self.order.graph.out(task))
    }

    fn at(&self, sets: &[Bits], counter: CounterId) -> Bits {
        let index = self.order.order.position(counter).checked_sub(self.first);
        index.and_then(|index| sets.get(index as usize)).copied().unwrap_or_default()
    }
}

fn unite(bits: &mut Bits, other: &Bits) {
    bits.iter_mut().zip(other).for_each(|(bits, other)| *bits |= other);
}

#[cfg(test)]
mod tests {
    use super::*;
    use megakernel_ir::prng::SplitMix64;

    use crate::testing::random_dag;

    /// The straightforward algorithm: a set of ancestors per task.
    fn ancestors(graph: &Graph) -> Vec<Vec<bool>> {
        let tasks = graph.tasks();
        let mut before = vec![vec![false; tasks]; tasks];
        for (task, ancestors) in before.iter_mut().enumerate() {
            let mut stack = vec![TaskId::at(task)];
            while let Some(next) = stack.pop() {
                for (producer, known) in TaskId::range(0..tasks).zip(ancestors.iter_mut()) {
                    if graph.is_direct(producer, next) && !*known {
                        *known = true;
                        stack.push(producer);
                    }
                }
            }
        }
        before
    }

    #[test]
    fn agrees_with_a_set_of_ancestors_per_task() {
        let mut rng = SplitMix64::new(7);
        for size in [1, 2, 3, 5, 9, 40, 120] {
            for _ in 0..12 {
                let graph = random_dag(&mut rng, size);
                let order = Order::new(&graph).expect("acyclic");
                let relation = HappensBefore::new(&graph, &order);
                let expected = ancestors(&graph);
                let tasks = |from| TaskId::range(from..size);
                let pairs = tasks(0).flat_map(|a| tasks(0).map(move |b| (a, b)));
                let questions: Vec<_> = pairs.map(|(earlier, later)| Question { earlier, later }).collect();
                for (question, answer) in questions.iter().zip(relation.answer(&questions)) {
                    let Question { earlier, later } = *question;
                    assert_eq!(answer, expected[later.index()][earlier.index()], "{question:?}");
                    assert!(!answer || relation.rank(earlier) < relation.rank(later), "{question:?}");
                }
                // The same for some of the tasks at once, among others that begin with one of them.
                let some: Vec<TaskId> = tasks(0).filter(|task| task.index() % 3 == 1).collect();
                let first = some.first().copied().unwrap_or_default().index();
                let around = Around::new(&relation, &some, relation.positions(tasks(first)));
                for task in tasks(first) {
                    let (unordered, before) = (around.unordered(task), around.before(task));
                    for (lane, &other) in some.iter().enumerate() {
                        let ordered = [(task, other), (other, task)]
                            .iter()
                            .any(|&(earlier, later)| expected[later.index()][earlier.index()]);
                        assert_eq!(unordered[lane / 64] >> (lane % 64) & 1 == 0, ordered, "{task} {other}");
                        let is_before = before[lane / 64] >> (lane % 64) & 1 == 1;
                        assert_eq!(is_before, expected[task.index()][other.index()], "{other} {task}");
                    }
                }
            }
        }
    }
}
