//! The pairs of accesses that race, in a storage that has some.

use std::collections::HashSet;

use megakernel_ir::diagnostic::{self, AccessKind, TileRegion, Witness};
use megakernel_ir::{Diagnostic, Rule, TaskId};
use megakernel_order::Findings;
use megakernel_order::happens_before::{HappensBefore, Question};

use crate::race::{Storage, conflict};
use crate::world::{Access, Does, World};

/// Pairs that are compared in a storage. Where there are more, the number of findings is a lower bound.
const MOST: usize = 1 << 23;

/// Reports every pair, up to a limit.
pub fn check(world: &World<'_>, order: &HappensBefore<'_>, storage: &Storage, findings: &mut Findings) {
    for pair in pairs(world, order, storage) {
        let [first, second] = pair.map(|index| &world.accesses[index as usize]);
        let rule = rule(world, first, second);
        findings.report(rule, || diagnostic(world, storage, rule, [first, second]));
    }
}

/// Every pair of accesses that races, up to a limit: the one that stands first in the document, and the other one.
pub fn pairs(world: &World<'_>, order: &HappensBefore<'_>, storage: &Storage) -> Vec<[u32; 2]> {
    let task = |index: u32| world.task_of[world.accesses[index as usize].phase as usize];
    let mut seen = HashSet::new();
    let mut known: &[u32] = &[];
    'pieces: for piece in storage.pieces() {
        if piece == known {
            continue;
        }
        known = piece;
        for (at, &second) in piece.iter().enumerate() {
            for &first in &piece[..at] {
                let pair = [first, second].map(|place| storage.accesses[place as usize]);
                let [one, other] = pair.map(|index| &world.accesses[index as usize]);
                if task(pair[0]) != task(pair[1]) && conflict(world, one, other) {
                    seen.insert(pair);
                    if seen.len() >= MOST {
                        break 'pieces;
                    }
                }
            }
        }
    }
    let mut pairs: Vec<[u32; 2]> = seen.into_iter().collect();
    // Along happens-before, so that the first can come before the second, and not the other way round.
    let questions: Vec<Question> = pairs
        .iter()
        .map(|pair| pair.map(|index| TaskId::from(world.accesses[index as usize].phase)))
        .map(|[earlier, later]| Question { earlier, later })
        .collect();
    let answers = order.answer(&questions);
    let mut answers = answers.into_iter();
    pairs.retain(|_| !answers.next().unwrap_or(true));
    for pair in &mut pairs {
        pair.sort_unstable();
    }
    pairs.sort_unstable_by_key(|&[first, second]| (second, first));
    pairs
}

/// Which rule a pair breaks.
fn rule(world: &World<'_>, first: &Access, second: &Access) -> Rule {
    if world.placed(first).value != world.placed(second).value {
        return Rule::ER07;
    }
    match (first.does, second.does) {
        (Does::Add, Does::Add) => Rule::ER04,
        (Does::Add, _) | (_, Does::Add) => Rule::ER03,
        (Does::Write, Does::Write) => Rule::ER02,
        _ => Rule::ER01,
    }
}

fn diagnostic(world: &World<'_>, storage: &Storage, rule: Rule, pair: [&Access; 2]) -> Diagnostic {
    let [first, second] = pair;
    let [from, to] = storage.shared(world, pair);
    let start = world.placed(second).start;
    let message = format!(
        "{}, {}: they share bytes {} to {} of `{}`, and nothing orders them",
        world.access_text(first),
        world.access_text(second),
        from - start,
        to - start,
        world.tensor_name(second.tensor)
    );
    let task = |access: &Access| TaskId::from(world.task_of[access.phase as usize]);
    let side = |access: &Access| diagnostic::Access {
        task: task(access),
        access: if access.does == Does::Read { AccessKind::Read } else { AccessKind::Write },
    };
    let signed = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
    Diagnostic::new(rule, world.access_pointer(second), message).tasks([task(first), task(second)]).witness(
        Witness::Overlap {
            first: side(first),
            second: side(second),
            rank: 0,
            tensor: world.tensor_name(second.tensor).to_owned(),
            region: TileRegion::Bytes { bytes: [signed(from), signed(to)] },
            next_iteration: false,
        },
    )
}
