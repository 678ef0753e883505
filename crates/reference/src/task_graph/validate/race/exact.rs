//! TR02 read-write-race, TR03 overwrite-race, TR04 write-write-race, TX03 cross-rank-race: the unordered pairs of one storage.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::Rule;
use megakernel_ir::diagnostic::AccessKind;

use crate::task_graph::validate::area::overlap;
use crate::task_graph::validate::race::{self, Accessed};
use crate::task_graph::validate::storage::Access;
use crate::task_graph::validate::world::World;
use crate::validate::findings::Findings;
use crate::validate::happens_before::{HappensBefore, Question};

/// A storage with at most this many accesses has all of them compared. Of one with more, those of this many tasks that the
/// search has named, each of which races; so whether the document is accepted does not depend on this number.
const COMPARE_ALL: usize = 2048;

pub(super) fn check(
    world: &World<'_, '_, '_>,
    of: &Accessed<'_, '_>,
    suspects: &BTreeSet<u32>,
    order: &HappensBefore<'_>,
    findings: &mut Findings,
) {
    // Earlier means of a lower rank or id: of two that are unordered, either could come first.
    let mut accesses: Vec<&Access> = of.accesses.iter().collect();
    accesses.sort_by_key(|access| (access.of.task, access.kind));
    let all = accesses.len() <= COMPARE_ALL;
    let named: BTreeSet<u32> = suspects.iter().copied().take(COMPARE_ALL).collect();
    let is_named = |access: &Access| all || named.contains(&access.of.task);
    let (mut pairs, mut named_before) = (Vec::<[&Access; 2]>::new(), Vec::<&Access>::new());
    for (index, &second) in accesses.iter().enumerate() {
        // One of a pair has to be named: a walk over all pairs of a large storage would be too long.
        let firsts = if is_named(second) { &accesses[..index] } else { &named_before };
        let conflicts = |first: &&&Access| {
            let writes = first.kind == AccessKind::Write || second.kind == AccessKind::Write;
            writes && first.of.task != second.of.task && overlap(&first.area, &second.area)
        };
        pairs.extend(firsts.iter().filter(conflicts).map(|&first| [first, second]));
        if !all && is_named(second) {
            named_before.push(second);
        }
    }
    let question =
        |earlier: &Access, later: &Access| Question { earlier: earlier.of.task, later: later.of.task };
    let questions: Vec<Question> =
        pairs.iter().flat_map(|[first, second]| [question(first, second), question(second, first)]).collect();
    let answers = order.answer(&questions);
    // By rule and by the tile that the rule points to: the lowest other access, and how many pairs.
    let mut broken = BTreeMap::<(Rule, u32, bool, u8), ([&Access; 2], usize)>::new();
    let mut counts = BTreeMap::<Rule, usize>::new();
    for (&[first, second], answers) in pairs.iter().zip(answers.chunks(2)) {
        if answers.contains(&true) {
            continue;
        }
        let is_remote = |access: &Access| world.rank(access.of.task) != of.storage.rank;
        let (rule, pair) = match (first.kind, second.kind) {
            _ if is_remote(second) => (Rule::TX03, [first, second]),
            _ if is_remote(first) => (Rule::TX03, [second, first]),
            (AccessKind::Write, AccessKind::Read) => (Rule::TR02, [first, second]),
            (AccessKind::Read, _) => (Rule::TR03, [first, second]),
            (AccessKind::Write, AccessKind::Write) => (Rule::TR04, [first, second]),
        };
        let at = pair[1].of;
        broken.entry((rule, at.task, at.is_output, at.position)).or_insert((pair, 0)).1 += 1;
        *counts.entry(rule).or_default() += 1;
    }
    for ((rule, ..), ([other, at], _)) in &broken {
        let total = counts.get(rule).copied().unwrap_or(1);
        findings.report(*rule, || {
            let (this, that) = (world.task_name(at.of.task), world.task_name(other.of.task));
            let storage = storage_name(world, of);
            let what = match (rule, other.kind) {
                (Rule::TR02, _) => {
                    format!("{this} reads {storage} without waiting for {that}, which writes it")
                }
                (Rule::TR03, _) => {
                    format!("{this} overwrites {storage} without waiting for {that}, which reads it")
                }
                (Rule::TR04, _) => {
                    format!("{this} and {that} write the same elements of {storage} in any order")
                }
                (_, AccessKind::Read) => {
                    format!("{this} writes {storage}, which {that} reads, and nothing orders the two")
                }
                (_, AccessKind::Write) => {
                    format!("{this} and {that} both write {storage}, and nothing orders the two")
                }
            };
            let least = if all { "" } else { "at least " };
            let pairs = match total {
                1 => String::new(),
                total => format!("; of {storage}, {least}{total} pairs of accesses break this rule"),
            };
            race::overlap(*rule, world, of, [*other, *at], false, (at.of.pointer(world), what + &pairs))
        });
    }
}

/// The storage in messages.
pub(in crate::task_graph::validate) fn storage_name(
    world: &World<'_, '_, '_>,
    of: &Accessed<'_, '_>,
) -> String {
    match world.ranks.get(of.storage.rank) {
        Some(rank) if rank.is_in_system() => format!("`{}` on rank {}", of.storage.name, rank.number),
        _ => format!("`{}`", of.storage.name),
    }
}
