//! Answers to many questions of the form "does task a happen before task b" (clause EXE-05).
//!
//! A set of ancestors per task would need memory quadratic in the program. Here the questions are collected first and
//! answered in batches: the counters that questions start from are taken [`LANES`] at a time in topological order, a
//! bit for each is pushed forward through the graph of counters, and every question of the batch reads its bit. Memory
//! is linear. A batch visits no more than the positions between its first source and its last sink, which for the
//! layered programs of real models is a short stretch; at worst the time is counters / [`LANES`] times the edges of
//! the counter graph.

use crate::validate::graph::{Graph, Order};

const WORDS: usize = 8;
/// Sources that one batch follows.
const LANES: usize = WORDS * 64;

/// The happens-before relation of an acyclic program.
pub struct HappensBefore<'g> {
    graph: &'g Graph,
    order: &'g Order,
}

/// A question: does `earlier` happen before `later`?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// A task.
    pub earlier: u32,
    /// Another task.
    pub later: u32,
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
    pub fn sequence(&self) -> &'g [u32] {
        self.order.sequence()
    }

    /// See [`Order::rank`].
    pub fn rank(&self, task: u32) -> u32 {
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
        let reachable = self.order.position(self.graph.out[earlier as usize]) < self.rank(later);
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
                None => {
                    open.push((self.order.position(self.graph.out[question.earlier as usize]), index as u32))
                }
            }
        }
        open.sort_unstable();
        let mut reached = vec![[0u64; WORDS]; if open.is_empty() { 0 } else { self.order.len() + 1 }];
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
        reached: &mut [[u64; WORDS]],
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
                    let from = &reached[before as usize];
                    bits.iter_mut().zip(from).for_each(|(bits, from)| *bits |= from);
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
        reached[first as usize..=last_sink.max(last_source) as usize].fill([0; WORDS]);
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::testing::{Rng, random_dag};

    /// The straightforward algorithm: a set of ancestors per task.
    fn ancestors(graph: &Graph) -> Vec<Vec<bool>> {
        let tasks = graph.tasks();
        let mut before = vec![vec![false; tasks]; tasks];
        for (task, ancestors) in before.iter_mut().enumerate() {
            let mut stack = vec![task as u32];
            while let Some(next) = stack.pop() {
                for (producer, known) in ancestors.iter_mut().enumerate() {
                    if graph.is_direct(producer as u32, next) && !*known {
                        *known = true;
                        stack.push(producer as u32);
                    }
                }
            }
        }
        before
    }

    #[test]
    fn agrees_with_a_set_of_ancestors_per_task() {
        let mut rng = Rng(7);
        for size in [1, 2, 3, 5, 9, 40, 120] {
            for _ in 0..12 {
                let graph = random_dag(&mut rng, size);
                let order = Order::new(&graph).expect("acyclic");
                let relation = HappensBefore::new(&graph, &order);
                let expected = ancestors(&graph);
                let pairs = (0..size as u32).flat_map(|a| (0..size as u32).map(move |b| (a, b)));
                let questions: Vec<_> = pairs.map(|(earlier, later)| Question { earlier, later }).collect();
                for (question, answer) in questions.iter().zip(relation.answer(&questions)) {
                    let Question { earlier, later } = *question;
                    assert_eq!(answer, expected[later as usize][earlier as usize], "{question:?}");
                    assert!(!answer || relation.rank(earlier) < relation.rank(later), "{question:?}");
                }
            }
        }
    }
}
