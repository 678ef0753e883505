//! The pairs of accesses that race, in a storage that has some.

use std::collections::HashSet;

use megakernel_ir::diagnostic::{self, AccessKind, TileRegion, Witness};
use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::Findings;
use megakernel_order::happens_before::{HappensBefore, Question};

use crate::ids::{AccessId, Place, question};
use crate::race::{Storage, conflict};
use crate::world::{Access, Does, World};

/// Of so many pairs of a storage that conflict it is asked whether they are ordered. Where there are more, the number of findings is a lower bound.
const MOST: usize = 1 << 22;
/// To find those, so many times as many pairs are compared at most.
const COMPARED: usize = 1 << 6;

/// Reports every pair, up to a limit. Those that have been found already are among them.
pub fn check(
    world: &World<'_>,
    order: &HappensBefore<'_>,
    storage: &Storage,
    found: &[[AccessId; 2]],
    findings: &mut Findings,
) {
    for pair in pairs(world, order, storage, found) {
        let [first, second] = pair.map(|index| &world.accesses[index.index()]);
        let rule = rule(world, first, second);
        findings.report(rule, || diagnostic(world, storage, rule, [first, second]));
    }
}

/// Every pair of accesses that races, up to a limit: the one that stands first in the document, and the other one.
pub fn pairs(
    world: &World<'_>,
    order: &HappensBefore<'_>,
    storage: &Storage,
    found: &[[AccessId; 2]],
) -> Vec<[AccessId; 2]> {
    pairs_among(world, order, storage, found, MOST)
}

/// The same, of which so many are compared that conflict.
fn pairs_among(
    world: &World<'_>,
    order: &HappensBefore<'_>,
    storage: &Storage,
    found: &[[AccessId; 2]],
    most: usize,
) -> Vec<[AccessId; 2]> {
    // Of many pairs that conflict, those at hand may all be ordered.
    let mut pairs: Vec<[AccessId; 2]> = found.to_vec();
    pairs.extend(compared(world, order, storage, most));
    for pair in &mut pairs {
        pair.sort_unstable();
    }
    pairs.sort_unstable_by_key(|&[first, second]| (second, first));
    pairs.dedup();
    pairs
}

/// The pairs that race among the first so many that conflict.
fn compared(
    world: &World<'_>,
    order: &HappensBefore<'_>,
    storage: &Storage,
    most: usize,
) -> Vec<[AccessId; 2]> {
    let task = |index: AccessId| world.task_of[world.accesses[index.index()].phase.index()];
    let mut seen = HashSet::new();
    let mut known: &[Place] = &[];
    let mut left = COMPARED * most;
    'pieces: for piece in storage.pieces() {
        if piece == known {
            continue;
        }
        known = piece;
        for (at, &second) in piece.iter().enumerate() {
            left = left.saturating_sub(at);
            if left == 0 || seen.len() >= most {
                break 'pieces;
            }
            for &first in &piece[..at] {
                let pair = [first, second].map(|place| storage.accesses[place.index()]);
                let [one, other] = pair.map(|index| &world.accesses[index.index()]);
                if task(pair[0]) != task(pair[1]) && conflict(world, one, other) {
                    seen.insert(pair);
                }
            }
        }
    }
    let mut pairs: Vec<[AccessId; 2]> = seen.into_iter().collect();
    // Along happens-before, so that the first can come before the second, and not the other way round.
    let questions: Vec<Question> = pairs
        .iter()
        .map(|pair| pair.map(|index| world.accesses[index.index()].phase))
        .map(|[earlier, later]| question(earlier, later))
        .collect();
    let answers = order.answer(&questions);
    let mut answers = answers.into_iter();
    pairs.retain(|_| !answers.next().unwrap_or(true));
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
    let task = |access: &Access| world.task_of[access.phase.index()];
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

#[cfg(test)]
mod tests {
    use megakernel_order::Order;

    use super::*;
    use crate::order::{Before, signals};
    use crate::race::{racing, storages};
    use crate::validate::{load, world};

    /// The pairs of accesses that race, of which so many are compared; and those among them that comparing finds. Tasks of a queue do something, and
    /// two others stand behind them.
    fn racing_pairs(times: usize, first: &str, others: [&str; 2], most: usize) -> [Vec<[AccessId; 2]>; 2] {
        let document = format!(
            r#"{{"tensors": {{"x": {{"shape": [4], "init": true}}}}, "memory": {{"queue": "ordered"}}, "tasks": [
            {{"queue": 0, "repeat": {{"times": {times}}}, "phases": [{{{first}}}]}}, {}, {}]}}"#,
            others[0], others[1]
        );
        let schedule = load(document.as_bytes()).expect("a schedule");
        let world = world(&schedule).expect("a sound one");
        let before = Before::new(&world, &signals(&world));
        let graph = before.graph(&world);
        let order = Order::new(&graph).expect("no ring");
        let order = HappensBefore::new(&graph, &order);
        let storages = storages(&world, &order);
        let found = racing(&world, &order, &storages);
        let all = pairs_among(&world, &order, &storages[0], &found[0], most);
        [all, compared(&world, &order, &storages[0], most)]
    }

    fn pair(first: u32, second: u32) -> [AccessId; 2] {
        [first, second].map(AccessId::from)
    }

    #[test]
    fn a_race_behind_very_many_pairs_that_are_ordered_is_found() {
        let writes = r#""writes": [["x", null]]"#;
        let signals = r#"{"queue": 0, "phases": [{"signals": [["e", 1]]}, {"writes": [["x", null]]}]}"#;
        let reads = r#"{"phases": [{"waits": [["e", 1]], "reads": [["x", null]]}]}"#;
        let [all, compared] = racing_pairs(60, writes, [signals, reads], 100);
        assert_eq!((all, compared), (vec![pair(60, 61)], vec![]));
        let [all, compared] = racing_pairs(60, writes, [signals, reads], MOST);
        assert_eq!((all, compared), (vec![pair(60, 61)], vec![pair(60, 61)]));
    }

    /// Additions that commute are not compared with each other for ever.
    #[test]
    fn a_read_beside_very_many_additions_is_found() {
        let adds = r#""adds": [["x", null]]"#;
        let idle = r#"{"phases": []}"#;
        let reads = r#"{"phases": [{"reads": [["x", null]]}]}"#;
        let [all, compared] = racing_pairs(2000, adds, [idle, reads], 64);
        assert!(all.len() > 1000 && compared.len() < 100, "{} and {}", all.len(), compared.len());
        // Behind all of them, and it races with the last one alone.
        let last = r#"{"queue": 0, "phases": [{"signals": [["e", 1]]}, {"adds": [["x", null]]}]}"#;
        let reads = r#"{"phases": [{"waits": [["e", 1]], "reads": [["x", null]]}]}"#;
        let [all, compared] = racing_pairs(2000, adds, [last, reads], 64);
        assert_eq!((all, compared), (vec![pair(2000, 2001)], vec![]));
    }
}
