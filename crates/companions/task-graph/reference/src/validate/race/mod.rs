//! The rules that need happens-before: TR02 to TR07 and TX03. The method is that of [`megakernel_reference::validate`]: neighbours among
//! the accesses of a storage first, and pairs only where some neighbours are unordered.

mod dead;
mod exact;
mod start;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::Rule;
use megakernel_ir::diagnostic::{self, Diagnostic, Witness};
use megakernel_order::Findings;
use megakernel_order::happens_before::{HappensBefore, Question};

use crate::validate::area::Layout;
use crate::validate::meetings;
use crate::validate::ranks::iteration;
use crate::validate::storage::{Access, Storage};
use crate::validate::world::World;
pub(in crate::validate) use exact::storage_name;
use exact::{Effort, Suspects};
use walk::Dead;

/// Questions are answered when there are this many.
const CHUNK: usize = 1 << 22;

/// A storage whose accesses are at hand.
pub struct Accessed<'s, 'g> {
    /// The storage.
    pub storage: &'s Storage<'g>,
    /// How its elements are addressed.
    pub layout: &'s Layout,
    /// Its accesses; along happens-before, once sorted.
    pub accesses: Vec<Access>,
}

/// Judges the rules on all storages. `layouts` are those of `storages`.
pub fn check(
    world: &World<'_, '_, '_>,
    order: &HappensBefore<'_>,
    storages: &[Storage<'_>],
    layouts: &[Layout],
    findings: &mut Findings,
) {
    let mut racing = BTreeMap::<usize, Suspects>::new();
    let mut dead = BTreeMap::<usize, Vec<Dead>>::new();
    let (mut questions, mut asked_for) = (Vec::<Question>::new(), Vec::<usize>::new());
    let accessed = |index: usize| {
        let (storage, layout) = (&storages[index], &layouts[index]);
        Accessed { storage, layout, accesses: storage.accesses(world, layout) }
    };
    let mut settle = |questions: &mut Vec<Question>, asked_for: &mut Vec<usize>| {
        let answers = order.answer(questions);
        for ((answer, question), storage) in
            answers.into_iter().zip(questions.drain(..)).zip(asked_for.drain(..))
        {
            if !answer {
                racing.entry(storage).or_default().add(question);
            }
        }
    };
    for index in (0..storages.len()).filter(|&index| storages[index].is_written) {
        let mut accessed = accessed(index);
        let found = walk::neighbours(world, &mut accessed, order, &mut |question| {
            questions.push(question);
            asked_for.push(index);
            if questions.len() >= CHUNK {
                settle(&mut questions, &mut asked_for);
            }
        });
        if !found.is_empty() {
            dead.insert(index, found);
        }
    }
    settle(&mut questions, &mut asked_for);
    let mut effort = Effort::default();
    let mut unordered_sums = BTreeSet::new();
    for (&index, suspects) in &racing {
        let broken = exact::check(world, &accessed(index), suspects, order, &mut effort, findings);
        if broken.contains(&Rule::TR06) {
            unordered_sums.insert(index);
        }
    }
    for (index, found) in dead.iter().filter(|(index, _)| !racing.contains_key(index)) {
        dead::check(world, &accessed(*index), found, findings);
    }
    let sums = (0..storages.len()).filter(|index| storages[*index].is_added_to);
    for index in sums.filter(|index| !unordered_sums.contains(index)) {
        start::check(world, &accessed(index), findings);
    }
    if !world.is_partial && world.ranks.len() > 1 {
        let sound =
            (0..storages.len()).filter(|index| storages[*index].is_written && !racing.contains_key(index));
        let reach = iteration::Reach::new(world, order);
        meetings::at_once(world, order, &reach, findings);
        iteration::check(world, &reach, sound.map(accessed), findings);
    }
}

/// The diagnostic of two accesses of a storage, the second of the next iteration perhaps.
pub fn overlap(
    rule: Rule,
    world: &World<'_, '_, '_>,
    of: &Accessed<'_, '_>,
    [first, second]: [&Access; 2],
    next_iteration: bool,
    (pointer, message): (String, String),
) -> Diagnostic {
    let access = |access: &Access| diagnostic::Access { task: access.of.task, access: access.kind };
    let shared = super::area::intersection(&first.area, &second.area).unwrap_or_default();
    Diagnostic::new(rule, pointer, message).tasks([first.of.task, second.of.task]).witness(Witness::Overlap {
        first: access(first),
        second: access(second),
        rank: world.ranks.get(of.storage.rank).map_or(0, |rank| rank.number as u32),
        tensor: of.storage.name.to_owned(),
        region: of.layout.to_witness(&shared),
        next_iteration,
    })
}
