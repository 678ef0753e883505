//! Waits of which one look at the schedule tells that they stay (clause SCH-14): a phase that has to come before another one does so through
//! this wait alone. It stays whatever else goes, since fewer waits order less.

use std::collections::BTreeSet;

use megakernel_order::Order;
use megakernel_order::happens_before::{HappensBefore, Question};
use megakernel_schedule::Schedule;

use crate::ids::{Node, PhaseId, question};
use crate::minimise::Wait;
use crate::order::{Before, signals};
use crate::race::{CHUNK, conflict, first_shared};
use crate::validate::world;
use crate::world::{Access, World};

/// Signals, pairs of accesses, their intervals and questions that are looked at: all together at most. Of the waits that are left, nothing is
/// known.
const MOST: usize = 1 << 26;
/// Of so many signals of a wait it is asked how they come before it.
const ASKED: usize = 8;
/// Of the waits of a phase straight after more nodes, nothing is known: each signal is asked of each node.
const STRAIGHT: usize = 1 << 10;

/// Waits that cannot go from a schedule that is accepted. There may be others.
pub fn needed(schedule: &Schedule) -> BTreeSet<Wait> {
    let Some(world) = world(schedule) else { return BTreeSet::new() };
    let signals = signals(&world);
    let before = Before::new(&world, &signals);
    let graph = before.graph(&world);
    let Some(order) = Order::new(&graph) else { return BTreeSet::new() };
    let order = HappensBefore::new(&graph, &order);
    // By event: the accesses of each phase that signals it and accesses something.
    let accesses = |&(phase, _): &(PhaseId, u64)| world.accesses_in(phase);
    let of_event = |of: &Vec<(PhaseId, u64)>| of.iter().map(accesses).filter(|of| !of.is_empty()).collect();
    let sources: Vec<Vec<&[Access]>> = signals.iter().map(of_event).collect();
    let mut left = Left(MOST);
    let mut asked = Asked { order, questions: Vec::new(), waits: Vec::new(), needed: BTreeSet::new() };
    for accesses in world.accesses.chunk_by(|one, other| one.phase == other.phase) {
        let phase = accesses[0].phase;
        let waits = world.waits.range(phase);
        let seen = &before.wait[waits.clone()];
        let mut nodes: Vec<Node> = before.each_before_phase(&world, phase).collect();
        nodes.sort_unstable();
        // What is there twice stays when one of the two goes.
        let once: Vec<Node> = nodes
            .chunk_by(|one, other| one == other)
            .filter(|same| same.len() == 1)
            .flatten()
            .copied()
            .collect();
        nodes.dedup();
        if nodes.len() > STRAIGHT {
            continue;
        }
        for ((place, wait), seen) in world.waits.all()[waits].iter().enumerate().zip(seen) {
            let Some(node) = seen.filter(|node| once.binary_search(node).is_ok()) else { continue };
            let mut clashing = Vec::new();
            for source in &sources[wait.event.index()] {
                if clashing.len() == ASKED || !left.takes(1) {
                    break;
                }
                if clash(&world, source, accesses, &mut left) {
                    clashing.push(source[0].phase);
                }
            }
            let of = [world.of_phase(phase).written, world.place(phase), place];
            for earlier in clashing {
                if left.takes(nodes.len()) {
                    let others = nodes.iter().copied().filter(|&other| other != node);
                    asked.ask(of, earlier, phase, others);
                }
            }
        }
    }
    asked.settle();
    asked.needed
}

/// How much may still be looked at.
struct Left(usize);

impl Left {
    /// Takes so much, or all where there is less.
    fn takes(&mut self, much: usize) -> bool {
        let rest = self.0.checked_sub(much);
        self.0 = rest.unwrap_or(0);
        rest.is_some()
    }
}

/// Questions that are not answered yet, and what those before have told.
struct Asked<'g> {
    order: HappensBefore<'g>,
    questions: Vec<Question>,
    /// For each signal that has to come before a wait: the wait, and how many questions are about it. The first is whether it does come before;
    /// the others, whether it does without the wait.
    waits: Vec<(Wait, usize)>,
    needed: BTreeSet<Wait>,
}

impl Asked<'_> {
    fn ask(&mut self, wait: Wait, earlier: PhaseId, later: PhaseId, others: impl Iterator<Item = Node>) {
        let before = self.questions.len();
        let nodes = std::iter::once(later.into()).chain(others);
        self.questions.extend(nodes.map(|later| question(earlier, later)));
        self.waits.push((wait, self.questions.len() - before));
        if self.questions.len() >= CHUNK {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let answers = self.order.answer(&self.questions);
        let mut answers = self.questions.drain(..).zip(answers);
        for (wait, many) in self.waits.drain(..) {
            let of_wait = answers.by_ref().take(many);
            let comes: Vec<bool> =
                of_wait.map(|(asked, answer)| answer || asked.earlier == asked.later).collect();
            if let [true, without @ ..] = &comes[..]
                && !without.contains(&true)
            {
                self.needed.insert(wait);
            }
        }
    }
}

/// Whether accesses of two phases, of different tasks, have to be ordered. No, where too much has been looked at.
fn clash(world: &World<'_>, ones: &[Access], others: &[Access], left: &mut Left) -> bool {
    let [one, other] = [ones, others].map(|of| of.first().map(|access| world.task_of[access.phase.index()]));
    if one == other {
        return false;
    }
    for one in ones {
        for other in others {
            if !left.takes(1) {
                return false;
            }
            if world.placed(one).storage != world.placed(other).storage || !conflict(world, one, other) {
                continue;
            }
            let [bytes, others] = [one, other].map(|access| world.bytes(access));
            if !left.takes(bytes.len() + others.len()) {
                return false;
            }
            if first_shared(bytes, others).is_some() {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::load;

    /// Many tasks that each wait for all of as many, which do not touch what they do: what is compared has to end long before all pairs of
    /// them are.
    #[test]
    fn what_is_looked_at_is_bounded() {
        let tasks = |waits: &str, of: &str, signals: &str| {
            format!(
                r#"{{"phases": [{{"waits": [{waits}], "writes": [["{of}", {{"box": [[0, 1]], "shift": [1]}}]], "signals": [{signals}]}}], "repeat": {{"times": 100000}}}}"#
            )
        };
        let first = r#"{"phases": [{"writes": [["x", null]], "signals": [["x", 1]]}]},
            {"phases": [{"waits": [["x", 1]], "reads": [["x", null]]}]}"#;
        let idle = r#"{"phases": [{"waits": [["all", 100000]]}], "repeat": {"times": 100000}}"#;
        let signals = tasks("", "y", r##"["all", 1], ["e#", 1]"##);
        // One phase with as many waits, each for another task that it has to come after.
        let many: Vec<String> = (0..100_000).map(|of| format!(r#"["e{of}", 1]"#)).collect();
        let many = many.join(", ");
        for waits in [
            tasks(r#"["all", 100000]"#, "z", ""),
            format!(r#"{{"phases": [{{"waits": [{many}], "reads": [["y", null]]}}]}}"#),
            idle.to_owned(),
        ] {
            let document = format!(
                r#"{{"tensors": {{"x": {{"shape": [4]}}, "y": {{"shape": [100000]}}, "z": {{"shape": [100000], "kind": "cache"}}}},
                "tasks": [{first}, {signals}, {waits}]}}"#
            );
            let schedule = load(document.as_bytes()).expect("a schedule");
            assert_eq!(needed(&schedule), BTreeSet::from([[1, 0, 0]]));
        }
    }
}
