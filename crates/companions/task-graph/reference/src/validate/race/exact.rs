//! TR02 read-write-race, TR03 overwrite-race, TR04 write-write-race, TX03 cross-rank-race: the unordered pairs of one storage.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::{Rule, TaskId};
use megakernel_order::Findings;
use megakernel_order::happens_before::{Around, HappensBefore, LANES, Question};

use crate::validate::area::overlap;
use crate::validate::race::{self, Accessed};
use crate::validate::storage::Access;
use crate::validate::world::World;

/// A storage with at most this many accesses has all of them compared. Of one with more, those of this many tasks that the
/// search has named, each of which races; so whether the document is accepted does not depend on this number.
const COMPARE_ALL: usize = 2048;
/// Pairs of one storage that are looked at, as many as [`COMPARE_ALL`] accesses can have.
const MOST_PAIRS: usize = COMPARE_ALL * COMPARE_ALL / 2;

/// What may still be spent on finding more pairs than the search has named, over all storages of a document: in positions
/// and accesses that are passed. A second or two.
pub(super) struct Effort(usize);

impl Default for Effort {
    fn default() -> Effort {
        Effort(1 << 26)
    }
}

impl Effort {
    /// Whether there was so much.
    fn spend(&mut self, steps: usize) -> bool {
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// What the search has found unordered on one storage.
#[derive(Default)]
pub(super) struct Suspects {
    tasks: BTreeSet<TaskId>,
    pairs: Vec<Question>,
}

impl Suspects {
    /// Adds two tasks of which neither is before the other.
    pub fn add(&mut self, pair: Question) {
        self.tasks.extend([pair.earlier, pair.later]);
        if self.pairs.len() < MOST_PAIRS {
            self.pairs.push(pair);
        }
    }
}

/// The accesses of a storage by task. Earlier means of a lower rank or id: of two that are unordered, either could come first.
struct ByTask<'a>(Vec<&'a Access>);

impl ByTask<'_> {
    fn of(&self, task: TaskId) -> Range<usize> {
        let start = self.0.partition_point(|access| access.of.task < task);
        let own = self.0[start..].iter().take_while(|access| access.of.task == task);
        start..start + own.count()
    }

    /// Adds those pairs of accesses by two unordered tasks that conflict: the later first, by their places.
    fn conflicts(&self, one: Range<usize>, other: Range<usize>, pairs: &mut Vec<[u32; 2]>) {
        for i in one {
            for j in other.clone() {
                let (first, second) = (&self.0[i.min(j)], &self.0[i.max(j)]);
                if first.conflicts(second) && overlap(&first.area, &second.area) {
                    pairs.push([i.max(j) as u32, i.min(j) as u32]);
                }
            }
        }
    }
}

/// Unordered pairs of accesses, each once, the later first; and whether these are all.
fn pairs(
    accesses: &ByTask<'_>,
    suspects: &Suspects,
    order: &HappensBefore<'_>,
    effort: &mut Effort,
) -> (Vec<[u32; 2]>, bool) {
    let all = accesses.0.len() <= COMPARE_ALL;
    let mut pairs = Vec::new();
    for pair in &suspects.pairs {
        accesses.conflicts(accesses.of(pair.earlier), accesses.of(pair.later), &mut pairs);
    }
    let mut named: Vec<TaskId> = match all {
        true => accesses.0.iter().map(|access| access.of.task).collect(),
        false => suspects.tasks.iter().copied().take(COMPARE_ALL).collect(),
    };
    named.dedup();
    let positions = order.positions(accesses.0.iter().map(|access| access.of.task));
    let steps = 2 * (positions.end() - positions.start() + 1) as usize + accesses.0.len();
    let mut is_complete = all;
    'batches: for batch in named.chunks(LANES) {
        if !effort.spend(steps) {
            is_complete = false;
            break;
        }
        let around = Around::new(order, batch, positions.clone());
        let places: Vec<Range<usize>> = batch.iter().map(|&task| accesses.of(task)).collect();
        let mut next = 0;
        while let Some(access) = accesses.0.get(next) {
            let task = access.of.task;
            let own = accesses.of(task);
            next = own.end;
            let is_named = named.binary_search(&task).is_ok();
            for (word, bits) in around.unordered(task).into_iter().enumerate() {
                let mut bits = bits;
                while bits != 0 {
                    let lane = word * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    let (Some(&other), Some(place)) = (batch.get(lane), places.get(lane)) else { break };
                    // Two named ones meet twice.
                    if other == task || is_named && task < other {
                        continue;
                    }
                    if pairs.len() >= MOST_PAIRS || !effort.spend(1) {
                        is_complete = false;
                        break 'batches;
                    }
                    accesses.conflicts(own.clone(), place.clone(), &mut pairs);
                }
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    (pairs, is_complete)
}

/// Reports what is broken, and gives back which rules are.
pub(super) fn check(
    world: &World<'_, '_, '_>,
    of: &Accessed<'_, '_>,
    suspects: &Suspects,
    order: &HappensBefore<'_>,
    effort: &mut Effort,
    findings: &mut Findings,
) -> BTreeSet<Rule> {
    let mut accesses = ByTask(of.accesses.iter().collect());
    accesses.0.sort_by_key(|access| (access.of.task, access.kind));
    let (pairs, is_complete) = pairs(&accesses, suspects, order, effort);
    // By rule and by the tile that the rule points to: the pair with the lowest other access.
    let mut broken = BTreeMap::<(Rule, TaskId, bool, u8), [&Access; 2]>::new();
    let mut counts = BTreeMap::<Rule, usize>::new();
    for [second, first] in pairs.into_iter().map(|pair| pair.map(|place| accesses.0[place as usize])) {
        let is_remote = |access: &Access| world.rank(access.of.task) != of.storage.rank;
        let (rule, pair) = match (first.kind, second.kind) {
            _ if is_remote(second) => (Rule::TX03, [first, second]),
            _ if is_remote(first) => (Rule::TX03, [second, first]),
            _ if second.adds => (Rule::TR06, [first, second]),
            _ if first.adds => (Rule::TR06, [second, first]),
            (AccessKind::Write, AccessKind::Read) => (Rule::TR02, [first, second]),
            (AccessKind::Read, _) => (Rule::TR03, [first, second]),
            (AccessKind::Write, AccessKind::Write) => (Rule::TR04, [first, second]),
        };
        let at = pair[1].of;
        broken.entry((rule, at.task, at.is_output, at.position)).or_insert(pair);
        *counts.entry(rule).or_default() += 1;
    }
    for ((rule, ..), [other, at]) in &broken {
        let total = counts.get(rule).copied().unwrap_or(1);
        findings.report(*rule, || {
            let (this, that) = (world.task_name(at.of.task), world.task_name(other.of.task));
            let storage = storage_name(world, of);
            let what = match (*rule, other.kind) {
                (Rule::TR02, _) => {
                    format!("{this} reads {storage} without waiting for {that}, which writes it")
                }
                (Rule::TR03, _) => {
                    format!("{this} overwrites {storage} without waiting for {that}, which reads it")
                }
                (Rule::TR04, _) => {
                    format!("{this} and {that} write the same elements of {storage} in any order")
                }
                (Rule::TR06, kind) => {
                    let verb = if kind == AccessKind::Read { "reads" } else { "writes" };
                    format!("{this} adds to {storage}, which {that} {verb}, and nothing orders the two")
                }
                (_, AccessKind::Read) => {
                    format!("{this} writes {storage}, which {that} reads, and nothing orders the two")
                }
                _ if at.kind == AccessKind::Read => {
                    format!(
                        "{this} reads {storage} from afar, which {that} writes, and nothing orders the two"
                    )
                }
                (_, AccessKind::Write) => {
                    format!("{this} and {that} both write {storage}, and nothing orders the two")
                }
            };
            let least = if is_complete { "" } else { "at least " };
            let pairs = match total {
                1 => String::new(),
                total => format!("; of {storage}, {least}{total} pairs of accesses break this rule"),
            };
            race::overlap(*rule, world, of, [*other, *at], false, (at.of.pointer(world), what + &pairs))
        });
    }
    counts.into_keys().collect()
}

/// The storage in messages.
pub(in crate::validate) fn storage_name(world: &World<'_, '_, '_>, of: &Accessed<'_, '_>) -> String {
    match world.ranks.get(of.storage.rank) {
        Some(rank) if rank.is_in_system() => format!("`{}` on rank {}", of.storage.name, rank.number),
        _ => format!("`{}`", of.storage.name),
    }
}

#[cfg(test)]
mod tests {
    use megakernel_order::{Edges, Graph, Order};

    use super::*;
    use crate::validate::storage::Use;

    /// So many tasks that write the same elements, in no order; all but the first two named, if any.
    fn found(tasks: u32, named: &[Question], effort: usize) -> (Vec<[u32; 2]>, bool) {
        let mut edges = Edges::with_capacity(tasks as usize);
        (0..tasks).for_each(|_| edges.push(0.into(), None));
        let graph = Graph::new(&edges, 1);
        let order = Order::new(&graph).expect("no cycle");
        let write = |task| Access {
            of: Use { task, is_output: true, position: 0 },
            kind: AccessKind::Write,
            adds: false,
            area: [[0, 1]].into_iter().collect(),
        };
        let accesses: Vec<Access> = TaskId::range(0..tasks as usize).map(write).collect();
        let mut suspects = Suspects::default();
        named.iter().for_each(|&pair| suspects.add(pair));
        pairs(
            &ByTask(accesses.iter().collect()),
            &suspects,
            &HappensBefore::new(&graph, &order),
            &mut Effort(effort),
        )
    }

    #[test]
    fn a_flood_of_races_is_bounded_by_count() {
        let chain = |tasks: u32| -> Vec<Question> {
            (1..tasks).map(|later| Question { earlier: (later - 1).into(), later: later.into() }).collect()
        };
        // Of few accesses, every pair; once, though named ones meet twice.
        let (all, is_complete) = found(1000, &chain(1000), usize::MAX);
        assert_eq!((all.len(), is_complete), (1000 * 999 / 2, true));
        // Of many, as many as are looked at, and at least those that are named.
        let many = 100_000;
        let (some, is_complete) = found(many, &chain(many), usize::MAX);
        assert!(!is_complete && some.len() <= MOST_PAIRS, "{}", some.len());
        assert!(
            chain(many)
                .iter()
                .all(|pair| some.binary_search(&[pair.later, pair.earlier].map(u32::from)).is_ok())
        );
        // Where nothing may be spent, those that are named alone.
        let (named, is_complete) = found(1000, &chain(5), 0);
        assert_eq!((named, is_complete), (vec![[1, 0], [2, 1], [3, 2], [4, 3]], false));
    }
}
