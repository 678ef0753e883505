//! Whether a schedule that is accepted still is when some of its waits have gone (clause SCH-14), by what has to be ordered alone. Fewer waits
//! stop no task. Accesses that conflict do so with and without them; where all of these are still ordered they are so in the same direction, since
//! less comes before each phase, and then each read finds what it found. Sets of phases are bits, which is quick for some thousand of them.

use std::collections::BTreeSet;

use megakernel_order::Order;
use megakernel_order::happens_before::HappensBefore;

use crate::ids::{Node, PhaseId, Place};
use crate::minimise::Wait;
use crate::order::{Before, signals};
use crate::race::{collisions, runs, storages};
use crate::world::World;

/// Nodes, phases and joins, at most.
const NODES: usize = 1 << 13;
/// Words that are looked at to find out what has to be ordered, at most.
const MOST: usize = 1 << 28;

/// A set of phases.
type Bits = Vec<u64>;

/// What has to come before each phase of a schedule that is accepted.
pub struct Required<'w> {
    world: &'w World<'w>,
    before: Before,
    /// What each wait has seen while none has gone.
    seen: Vec<Option<Node>>,
    /// Phases and joins, each behind what comes straight before it.
    nodes: Vec<Node>,
    /// By phase.
    required: Vec<Bits>,
}

impl<'w> Required<'w> {
    /// Of a schedule that is accepted; nothing where it is too large.
    pub fn new(world: &'w World<'w>) -> Option<Required<'w>> {
        let before = Before::new(world, &signals(world));
        let graph = before.graph(world);
        if graph.tasks() > NODES {
            return None;
        }
        let order = Order::new(&graph)?;
        let order = HappensBefore::new(&graph, &order);
        let nodes: Vec<Node> = order.sequence().iter().map(|&node| node.into()).collect();
        let words = world.phases().div_ceil(64);
        let mut required = vec![vec![0; words]; world.phases()];
        let mut left = MOST;
        for storage in storages(world, &order) {
            let mut known: &[Place] = &[];
            for piece in storage.pieces() {
                if piece == known {
                    continue;
                }
                known = piece;
                left = left.checked_sub((piece.len() + 1) * words)?;
                runs(world, &storage, piece, &mut |earlier, run| {
                    let mut bits = vec![0; words];
                    earlier.iter().for_each(|&place| insert(&mut bits, storage.phase(world, place)));
                    for &place in run {
                        let phase = storage.phase(world, place);
                        unite(&mut required[phase.index()], &bits);
                    }
                    collisions(world, &storage, run, &mut |earlier, later| {
                        let [earlier, later] = [earlier, later].map(|place| storage.phase(world, place));
                        insert(&mut required[later.index()], earlier);
                    });
                });
            }
        }
        for (phase, bits) in required.iter_mut().enumerate() {
            bits[phase / 64] &= !(1 << (phase % 64));
        }
        Some(Required { world, seen: before.wait.clone(), before, nodes, required })
    }

    /// Whether all is ordered without these waits.
    pub fn holds_without(&mut self, gone: &BTreeSet<Wait>) -> bool {
        self.before.wait.clone_from(&self.seen);
        for wait in gone {
            self.take(wait);
        }
        let words = self.world.phases().div_ceil(64);
        let mut come = vec![vec![0; words]; self.nodes.len()];
        for &node in &self.nodes {
            let mut bits = std::mem::take(&mut come[node.index()]);
            for earlier in self.before.each_before(self.world, node) {
                unite(&mut bits, &come[earlier.index()]);
                if let Ok(phase) = self.world.as_phase(earlier) {
                    insert(&mut bits, phase);
                }
            }
            let required = self.required.get(node.index()).map_or(&[][..], Vec::as_slice);
            if required.iter().zip(&bits).any(|(required, come)| required & !come != 0) {
                return false;
            }
            come[node.index()] = bits;
        }
        true
    }

    /// Takes a wait from each task that it stands for.
    fn take(&mut self, &[task, phase, place]: &Wait) {
        let first = self.world.tasks.partition_point(|of| of.written < task);
        for of in self.world.tasks[first..].iter().take_while(|of| of.written == task) {
            let index = self.world.waits.range(of.phase(phase)).start + place;
            self.before.wait[index] = None;
        }
    }
}

fn insert(bits: &mut Bits, phase: PhaseId) {
    let phase = phase.index();
    bits[phase / 64] |= 1 << (phase % 64);
}

fn unite(bits: &mut Bits, others: &Bits) {
    bits.iter_mut().zip(others).for_each(|(bits, others)| *bits |= others);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::minimise::{waits, without};
    use crate::validate::{accepts, load, world};
    use megakernel_test_support::{files, root};

    /// Of the schedules of the corpus: without each wait, each two neighbours, and all but one, judged anew.
    #[test]
    fn what_has_to_be_ordered_tells_what_judging_anew_does() {
        let (mut kept, mut lost) = (0, 0);
        for case in files::json_below(&root().join("corpus/cases/schedule")) {
            let case = files::json(&case);
            let Some(schedule) =
                case["document"]["text"].as_str().and_then(|text| load(text.as_bytes()).ok())
            else {
                continue;
            };
            let all = waits(&schedule);
            if all.is_empty() || all.len() > 16 || !accepts(&schedule) {
                continue;
            }
            let world = world(&schedule).expect("an accepted schedule");
            if world.phases() > 200 {
                continue;
            }
            let mut required = Required::new(&world).expect("a small one");
            let set = |some: &[Wait]| some.iter().copied().collect::<BTreeSet<Wait>>();
            let mut sets: Vec<_> = all.iter().map(|wait| set(&[*wait])).collect();
            sets.extend(all.windows(2).map(set));
            sets.extend(all.iter().map(|wait| all.iter().copied().filter(|other| other != wait).collect()));
            for gone in sets {
                let is_kept = accepts(&without(&schedule, &gone));
                assert_eq!(required.holds_without(&gone), is_kept, "{}: {gone:?}", case["id"]);
                *if is_kept { &mut kept } else { &mut lost } += 1;
            }
        }
        assert!(kept > 300 && lost > 300, "{kept} and {lost}");
    }
}
