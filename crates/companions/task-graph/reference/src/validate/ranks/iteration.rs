//! TX04 iteration-race: between iterations, only END of a rank comes before BEGIN of the same rank. What a task of one
//! iteration touches, or triggers, is safe from a task of the next only if the first leads to END of a rank from whose
//! BEGIN there is a way to the second.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::{Findings, HappensBefore};
use smallvec::{SmallVec, smallvec};

use crate::validate::area::overlap;
use crate::validate::race::{Accessed, overlap as diagnose, storage_name};
use crate::validate::ranks::misaligned;
use crate::validate::storage::Access;
use crate::validate::world::{Trigger, World};

/// A set of ranks.
type Ranks = SmallVec<[u64; 1]>;

/// Which ranks' ends tasks lead to, and which ranks' begins lead to tasks.
pub struct Reach<'w, 'r, 'g, 'a> {
    world: &'w World<'r, 'g, 'a>,
    /// Of each event.
    ends: Vec<Ranks>,
    /// Of each event.
    begins: Vec<Ranks>,
}

fn insert(set: &mut Ranks, rank: usize) {
    if let Some(word) = set.get_mut(rank / 64) {
        *word |= 1 << (rank % 64);
    }
}

fn union(set: &mut Ranks, other: &Ranks) {
    set.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
}

impl<'w, 'r, 'g, 'a> Reach<'w, 'r, 'g, 'a> {
    pub fn new(world: &'w World<'r, 'g, 'a>, order: &HappensBefore<'_>) -> Reach<'w, 'r, 'g, 'a> {
        let none: Ranks = smallvec![0; world.ranks.len().div_ceil(64)];
        let events = world.waits();
        let sequence = || order.sequence().iter().copied().filter(|event| event.index() < events);
        let mut reach = Reach { world, ends: vec![none.clone(); events], begins: vec![none.clone(); events] };
        for event in sequence() {
            let mut begins = none.clone();
            match event.index().checked_sub(world.events()) {
                None => {
                    for &task in world.producers.of(event) {
                        union(&mut begins, &reach.begins_of(task));
                    }
                }
                // A meeting follows the starts of all who meet.
                Some(meeting) => {
                    for &task in world.meetings.tasks(meeting) {
                        insert(&mut begins, world.rank(task));
                        if let Some(wait) = world.dependent[task.index()] {
                            union(&mut begins, &reach.begins[wait.index()]);
                        }
                    }
                }
            }
            reach.begins[event.index()] = begins;
        }
        for event in sequence().rev() {
            let mut ends = none.clone();
            if event.index() < world.events() && world.is_end(event) {
                insert(&mut ends, world.event_place(event).0);
            }
            for &task in world.waiters(event) {
                if let Some(next) = world.onward(event, task) {
                    union(&mut ends, &reach.ends[next.index()]);
                }
            }
            reach.ends[event.index()] = ends;
        }
        reach
    }

    fn ends_of(&self, task: TaskId) -> Option<&Ranks> {
        match self.world.triggers[task.index()] {
            Trigger::Event(event) => self.ends.get(event.index()),
            _ => None,
        }
    }

    fn begins_of(&self, task: TaskId) -> Ranks {
        let mut begins: Ranks = smallvec![0; self.world.ranks.len().div_ceil(64)];
        insert(&mut begins, self.world.rank(task));
        if let Some(wait) = self.world.wait(task) {
            union(&mut begins, &self.begins[wait.index()]);
        }
        begins
    }

    /// Whether `earlier` comes before `later` of the next iteration.
    fn is_before(&self, earlier: TaskId, later: TaskId) -> bool {
        let begins = self.begins_of(later);
        self.ends_of(earlier)
            .is_some_and(|ends| ends.iter().zip(&begins).any(|(ends, begins)| ends & begins != 0))
    }

    /// Tasks that lead to no end at all are TD05's.
    fn reaches_an_end(&self, task: TaskId) -> bool {
        self.ends_of(task).is_some_and(|ends| ends.iter().any(|&word| word != 0))
    }

    /// Whether a task of the next iteration may run while another one does, or before; both of one rank, whose end the first does
    /// not lead to.
    pub fn may_meet(&self, first: TaskId, next: TaskId) -> bool {
        [first, next].into_iter().all(|task| self.reaches_an_end(task)) && !self.is_before_start(first, next)
    }

    /// Whether `earlier` comes before the start of `later` of the next iteration, which waits for no mates.
    fn is_before_start(&self, earlier: TaskId, later: TaskId) -> bool {
        let mut begins: Ranks = smallvec![0; self.world.ranks.len().div_ceil(64)];
        insert(&mut begins, self.world.rank(later));
        if let Some(event) = self.world.dependent[later.index()] {
            union(&mut begins, &self.begins[event.index()]);
        }
        self.ends_of(earlier)
            .is_some_and(|ends| ends.iter().zip(&begins).any(|(ends, begins)| ends & begins != 0))
    }

    /// The tasks that need a closer look: those that do not lead to the end of their own rank.
    pub fn leaves(&self, task: TaskId) -> bool {
        let rank = self.world.rank(task);
        self.ends_of(task)
            .is_none_or(|ends| ends.get(rank / 64).is_none_or(|word| word & (1 << (rank % 64)) == 0))
    }
}

/// Judges the rule on storages without races in an iteration, and on events.
pub fn check<'s, 'g: 's>(
    world: &World<'_, 'g, '_>,
    reach: &Reach<'_, '_, '_, '_>,
    storages: impl Iterator<Item = Accessed<'s, 'g>>,
    findings: &mut Findings,
) {
    for of in storages {
        check_storage(world, reach, &of, findings);
    }
    for event in world.event_ids().filter(|&event| world.is_awaited(event)) {
        check_event(world, reach, event, findings);
    }
}

fn check_storage(
    world: &World<'_, '_, '_>,
    reach: &Reach<'_, '_, '_, '_>,
    of: &Accessed<'_, '_>,
    findings: &mut Findings,
) {
    let is_remote = |access: &Access| world.rank(access.of.task) != of.storage.rank;
    // Tasks of one rank that lead to its end are in order whatever they do.
    if !of.accesses.iter().any(|access| is_remote(access) || reach.leaves(access.of.task)) {
        return;
    }
    // Tasks with the same ends, or the same begins, are alike; most storages need no look at areas at all.
    let mut earlier = BTreeMap::<(Option<&Ranks>, AccessKind, bool), Vec<&Access>>::new();
    let mut later = BTreeMap::<(Ranks, AccessKind, bool), Vec<&Access>>::new();
    for access in of.accesses.iter().filter(|access| reach.reaches_an_end(access.of.task)) {
        let Access { kind, adds, .. } = *access;
        earlier.entry((reach.ends_of(access.of.task), kind, adds)).or_default().push(access);
        later.entry((reach.begins_of(access.of.task), kind, adds)).or_default().push(access);
    }
    let mut broken = BTreeMap::<(TaskId, bool, u8), [&Access; 2]>::new();
    for first in earlier.values() {
        for second in later.values() {
            let (Some(one), Some(other)) = (first.first(), second.first()) else { continue };
            if !one.conflicts(other) || reach.is_before(one.of.task, other.of.task) {
                continue;
            }
            for &x in first {
                for &y in second {
                    if overlap(&x.area, &y.area) {
                        let at = if is_remote(y) { y } else { x };
                        let pair =
                            broken.entry((at.of.task, at.of.is_output, at.of.position)).or_insert([x, y]);
                        if (x.of.task, y.of.task) < (pair[0].of.task, pair[1].of.task) {
                            *pair = [x, y];
                        }
                    }
                }
            }
        }
    }
    for [x, y] in broken.into_values() {
        findings.report(Rule::TX04, || {
            let at = if is_remote(y) { y } else { x };
            let verb = |access: &Access| match access.kind {
                AccessKind::Read => "reads",
                AccessKind::Write if access.adds => "adds to",
                AccessKind::Write => "writes",
            };
            let message = format!(
                "{} {} {}, and in the next iteration {} {} it, perhaps before: no end of an iteration stands between; use another buffer, or synchronise once more",
                world.task_name(x.of.task),
                verb(x),
                storage_name(world, of),
                world.task_name(y.of.task),
                verb(y)
            );
            diagnose(Rule::TX04, world, of, [x, y], true, (at.of.pointer(world), message))
        });
    }
}

fn check_event(
    world: &World<'_, '_, '_>,
    reach: &Reach<'_, '_, '_, '_>,
    event: CounterId,
    findings: &mut Findings,
) {
    let producers = world.producers.of(event);
    // All of them lead to the same ends. If each is of a rank among those, its next iteration comes after all of them.
    if producers.iter().all(|&task| !reach.leaves(task)) || misaligned(world, event).is_some() {
        return;
    }
    let mut earlier = BTreeMap::<Option<&Ranks>, TaskId>::new();
    for &task in producers.iter().filter(|&&task| reach.reaches_an_end(task)) {
        earlier.entry(reach.ends_of(task)).or_insert(task);
    }
    let mut judged = BTreeSet::<Ranks>::new();
    let mut unsafe_begins = BTreeMap::<Ranks, TaskId>::new();
    for &task in producers.iter().filter(|&&task| reach.reaches_an_end(task)) {
        let begins = reach.begins_of(task);
        if judged.insert(begins.clone())
            && let Some(&first) = earlier.values().find(|&&first| !reach.is_before(first, task))
        {
            unsafe_begins.insert(begins.clone(), first);
        }
        let Some(&first) = unsafe_begins.get(&begins) else { continue };
        findings.report(Rule::TX04, || {
            let message = format!(
                "{} of the next iteration may trigger {} before {} of this one has: its tasks would start too early; synchronise once more",
                world.task_name(task),
                world.event_name(event),
                world.task_name(first)
            );
            Diagnostic::new(Rule::TX04, world.at_task(task, "/trigger_event"), message)
                .tasks([first, task])
                .counters([event])
        });
    }
}
