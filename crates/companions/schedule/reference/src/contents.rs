//! The rules ER05, ER06 and ER08, in storages without a race: the accesses of each piece that conflict come one after the other.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::Findings;
use megakernel_schedule::{Init, Kind};

use crate::ids::{AccessId, Place, TensorId};
use crate::race::Storage;
use crate::world::{Access, Does, World};

/// Judges a storage.
pub fn check(world: &World<'_>, storage: &Storage, findings: &mut Findings) {
    // By access, in the order of the document: what is wrong with it, and with whom.
    let mut broken: BTreeMap<AccessId, (Rule, Option<AccessId>)> = BTreeMap::new();
    let mut known: &[Place] = &[];
    for piece in storage.pieces() {
        if piece != known {
            known = piece;
            let accesses: Vec<AccessId> =
                piece.iter().map(|&place| storage.accesses[place.index()]).collect();
            judge(world, &accesses, &mut broken);
        }
    }
    for (index, (rule, other)) in broken {
        let access = &world.accesses[index.index()];
        findings.report(rule, || diagnostic(world, rule, access, other));
    }
}

fn judge(world: &World<'_>, piece: &[AccessId], broken: &mut BTreeMap<AccessId, (Rule, Option<AccessId>)>) {
    let access = |index: AccessId| &world.accesses[index.index()];
    // Most are of one value, which is written first.
    if let [first, rest @ ..] = piece
        && access(*first).does == Does::Write
        && rest.iter().all(|&index| world.placed(access(index)).value == world.placed(access(*first)).value)
    {
        return;
    }
    let changes = || piece.iter().copied().filter(|&index| access(index).does != Does::Read);
    let changed: BTreeSet<TensorId> = changes().map(|index| world.placed(access(index)).value).collect();
    // The first change, and the first one through another value.
    let value = |index: AccessId| world.placed(access(index)).value;
    let first = changes().next();
    let firsts = [first, changes().find(|&index| first.is_some_and(|first| value(first) != value(index)))];
    let mut written = BTreeSet::new();
    let mut last: Option<AccessId> = None;
    for &index in piece {
        let this = access(index);
        let placed = world.placed(this);
        if this.does != Does::Write {
            let is_held = matches!(placed.kind, Kind::Activation | Kind::Output);
            let rule = match placed.init {
                Init::Never if is_held && !written.contains(&placed.value) => Some((Rule::ER05, None)),
                Init::Once
                    if is_held && changed.contains(&placed.value) && !written.contains(&placed.value) =>
                {
                    Some((Rule::ER06, None))
                }
                _ => clobbered(world, firsts, last, this).map(|other| (Rule::ER08, Some(other))),
            };
            if let Some(rule) = rule {
                broken.entry(index).or_insert(rule);
            }
        }
        if this.does == Does::Write {
            written.insert(placed.value);
        }
        if this.does != Does::Read {
            last = Some(index);
        }
    }
}

/// The change through another value that a read or an addition finds.
fn clobbered(
    world: &World<'_>,
    firsts: [Option<AccessId>; 2],
    last: Option<AccessId>,
    this: &Access,
) -> Option<AccessId> {
    let placed = world.placed(this);
    let is_other = |index: AccessId| world.placed(&world.accesses[index.index()]).value != placed.value;
    if last.is_some() {
        return last.filter(|&last| is_other(last));
    }
    let is_kept = match placed.kind {
        Kind::Weight | Kind::Cache => true,
        Kind::Input => false,
        Kind::Activation | Kind::Output => placed.init == Init::Once,
    };
    if is_kept { firsts.into_iter().flatten().find(|&index| is_other(index)) } else { None }
}

fn diagnostic(world: &World<'_>, rule: Rule, access: &Access, other: Option<AccessId>) -> Diagnostic {
    let what = match rule {
        Rule::ER05 => "of which some elements are not written before".to_owned(),
        Rule::ER06 => {
            "of which some elements are those of the launch before: the host fills it once, and tasks change it".to_owned()
        }
        _ => {
            let other = other.map(|other| world.access_text(&world.accesses[other.index()]));
            format!("in whose memory {} last", other.unwrap_or_default())
        }
    };
    let task = world.task_of[access.phase.index()];
    let others = other.map(|other| world.task_of[world.accesses[other.index()].phase.index()]);
    let message = format!("{}, {what}", world.access_text(access));
    Diagnostic::new(rule, world.access_pointer(access), message).tasks(others.into_iter().chain([task]))
}
