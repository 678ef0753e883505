//! Triggers and waits that lead to a wrong event, where the right one is known: it lacks what the wrong one has too much of.

use std::collections::HashMap;

use megakernel_ir::{CounterId, TaskId};
use megakernel_task_graph::{EventType, Tile};

use crate::types;
use crate::validate::area::Footprint;
use crate::validate::order::Events;
use crate::validate::rank::Rank;
use crate::validate::repair::{Known, Repair};
use crate::validate::world::{Trigger, World};

/// Most changes that are tried against a cycle, each of which orders the graph anew.
const TRIED: usize = 64;

/// Most pairs of a task and an event that are looked at for a trigger that leads astray.
const LOOKED_AT: usize = 1 << 14;

/// Most comparisons of tasks that trigger the same event, and of those that wait, for all those pairs: a task of an event is compared with
/// all others of it, and with all who wait for it or for the other event.
const COMPARED: usize = 1 << 20;

/// Most tasks that may belong to an event which lacks one.
const MOVED: usize = 1 << 10;

/// Whether a task waits for the event that it triggers. The order of events does not see that.
pub(super) fn has_loop(world: &World<'_, '_, '_>) -> bool {
    let mut tasks = world.triggers.iter().zip(&world.dependent);
    tasks.any(|(trigger, wait)| wait.is_some_and(|wait| *trigger == Trigger::Event(wait)))
}

impl Known<'_, '_, '_, '_> {
    /// Whether an event that is waited for counts fewer triggers than there are.
    pub(super) fn counts_too_few(&self, event: CounterId) -> bool {
        let producers = self.world.producers.of(event).len();
        self.world.is_awaited(event)
            && !self.world.is_from_elsewhere(event)
            && i128::from(self.world.event(event).num_triggers) < producers as i128
    }

    /// The events of a rank.
    fn events_of(&self, rank: usize) -> impl Iterator<Item = CounterId> + '_ {
        (0..).map_while(move |position| self.world.event_at(rank, position))
    }

    /// The events of a rank that count more triggers than there are.
    fn lacking(&self, rank: usize) -> impl Iterator<Item = CounterId> + '_ {
        self.events_of(rank).filter(|&event| {
            self.world.is_awaited(event) && !self.world.is_from_elsewhere(event) && self.lacks(event)
        })
    }

    /// Whether a task, which triggers a wrong event, may trigger this one in its place.
    fn may_trigger(&self, task: TaskId, event: CounterId) -> bool {
        let world = self.world;
        let is_put = types::is_put(world.task(task).task_type);
        let is_end_of_both = world.is_end(event) && !is_put;
        (is_end_of_both || is_put == self.is_of_puts(event) && self.fits(task, event))
            && !self.would_close(task, event)
    }

    /// How much speaks for the event that a task triggers now, and against another one: first whether that counts fewer than there are,
    /// then who reads what the task writes, then how many others like the task trigger what it triggers.
    fn belonging(&self, task: TaskId, other: CounterId) -> (bool, bool, bool, usize) {
        let Trigger::Event(now) = self.world.triggers[task.index()] else {
            return (true, true, true, usize::MAX);
        };
        let like = self.world.producers.of(now).iter();
        let like = like.filter(|&&one| one != task && self.are_alike(task, one)).count();
        (!self.counts_too_few(now), self.serves(task, now), !self.serves(task, other), like)
    }

    /// Of these pairs of a task and an event as many as can be compared: of each, it is told how much speaks for it.
    fn affordable(
        &self,
        pairs: impl Iterator<Item = (TaskId, CounterId)>,
    ) -> impl Iterator<Item = (TaskId, CounterId)> {
        let mut left = COMPARED;
        pairs.take_while(move |&(task, event)| {
            let world = self.world;
            let rest = match world.triggers[task.index()] {
                Trigger::Event(now) => {
                    let readers = world.dependents.of(now).len() + world.dependents.of(event).len();
                    left.checked_sub(world.producers.of(now).len() + readers)
                }
                Trigger::Elsewhere | Trigger::Nothing => Some(left),
            };
            left = rest.unwrap_or(0);
            rest.is_some()
        })
    }

    /// Whether somebody who waits for an event reads what a task writes.
    fn serves(&self, task: TaskId, event: CounterId) -> bool {
        let world = self.world;
        let record = world.task(task);
        let tiles = [(false, record.inputs()), (true, record.outputs())].into_iter().flat_map(
            |(is_output, tiles)| {
                let written =
                    move |&(position, _): &(usize, _)| types::writes(record.task_type, is_output, position);
                tiles.iter().enumerate().filter(written).map(|(_, tile)| tile)
            },
        );
        let bytes = |tile: &Tile<'_>| Footprint { tile, is_slot: false }.bytes();
        let meet = |one: &Tile<'_>, other: &Tile<'_>| {
            let ([start, end], [first, last]) = (bytes(one), bytes(other));
            one.base_ptr == other.base_ptr && start < last && first < end
        };
        let mut tiles = tiles.filter(|tile| !tile.is_null());
        tiles.any(|tile| {
            let mut waiting = world.dependents.of(event).iter();
            waiting.any(|&reader| world.task(reader).inputs().iter().any(|read| meet(tile, read)))
        })
    }

    /// Of the tasks that trigger an event, one that another event of the same rank lacks.
    pub(super) fn stray(&self, event: CounterId) -> Option<Repair> {
        let lacking: Vec<CounterId> = self.lacking(self.world.event_place(event).0).collect();
        // Of those of which as much is known, the last is likeliest to be the one that does not belong.
        let producers = self.world.producers.of(event).iter().rev();
        let pairs = producers.flat_map(|&task| lacking.iter().map(move |&event| (task, event)));
        let pairs = pairs.take(LOOKED_AT).filter(|&(task, event)| self.may_trigger(task, event));
        let (task, event) =
            self.affordable(pairs).min_by_key(|&(task, event)| self.belonging(task, event))?;
        Some(Repair::Trigger { task, event })
    }

    /// The task that an event lacks, if another event has it too much.
    pub(super) fn strayed(&self, event: CounterId) -> Option<Repair> {
        let rank = self.world.event_place(event).0;
        let mut counts_too_few = HashMap::new();
        let tasks =
            self.world.tasks_of(rank).skip(2).filter(|&task| match self.world.triggers[task.index()] {
                Trigger::Event(now) => {
                    now != event && *counts_too_few.entry(now).or_insert_with(|| self.counts_too_few(now))
                }
                Trigger::Elsewhere | Trigger::Nothing => false,
            });
        let tasks = tasks.take(LOOKED_AT).filter(|&task| self.may_trigger(task, event)).take(MOVED);
        let pairs = self.affordable(tasks.map(|task| (task, event)));
        let (task, event) = pairs.min_by_key(|&(task, event)| self.belonging(task, event))?;
        Some(Repair::Trigger { task, event })
    }

    /// Ids that descend from one task to another that waits for it, which dealing them out anew mends.
    pub(super) fn descends(&self, earlier: TaskId, later: TaskId) -> Option<Repair> {
        let world = self.world;
        let is_edge = world.dependent[later.index()]
            .is_some_and(|event| world.triggers[earlier.index()] == Trigger::Event(event));
        (is_edge && world.rank(earlier) == world.rank(later) && earlier > later)
            .then_some(Repair::Renumber { tasks: [earlier, later] })
    }

    /// What opens a cycle: a trigger that another event lacks, or a wait in place of which there is an event that nobody waits for.
    pub(super) fn open(&self, cycle: &[TaskId]) -> Option<Repair> {
        let world = self.world;
        let pairs =
            cycle.iter().flat_map(|&task| self.lacking(world.rank(task)).map(move |event| (task, event)));
        let pairs = pairs.take(LOOKED_AT).filter(|&(task, event)| self.may_trigger(task, event));
        let mut triggers: Vec<(TaskId, CounterId)> = self.affordable(pairs).collect();
        triggers.sort_by_cached_key(|&(task, event)| self.belonging(task, event));
        let triggers = triggers.into_iter().map(|(task, event)| Repair::Trigger { task, event });
        let waits = cycle.iter().flat_map(|&task| {
            let events = self.events_of(world.rank(task)).filter(move |&event| {
                world.event(event).event_type == EventType::Empty as i64
                    && world.dependents.of(event).is_empty()
                    && world.producers.of(event).iter().any(|&producer| self.have_in_common(producer, task))
            });
            events.map(move |event| Repair::Wait { task, event })
        });
        triggers.chain(waits).take(TRIED).find(|&repair| self.is_ordered_after(repair))
    }

    /// Whether there is no cycle once a trigger or a wait is another one.
    fn is_ordered_after(&self, repair: Repair) -> bool {
        let ranks = Rank::of(self.graphs);
        let mut world = World::new(&ranks, self.graphs, self.world.is_partial);
        match repair {
            Repair::Trigger { task, event } => world.triggers[task.index()] = Trigger::Event(event),
            Repair::Wait { task, event } => world.dependent[task.index()] = Some(event),
            _ => return false,
        }
        Events::new(&world).order.is_some() && !has_loop(&world)
    }

    /// Triggers of an event that is not theirs, among those of puts: what others like them trigger, or lack them, is theirs.
    pub(super) fn misaligned(&self, event: CounterId) -> Option<Repair> {
        let producers = self.world.producers.of(event);
        let (puts, local): (Vec<TaskId>, Vec<TaskId>) =
            producers.iter().partition(|&&task| types::is_put(self.world.task(task).task_type));
        let strays = local.into_iter().filter_map(|task| {
            let rank = self.world.rank(task);
            let lacking = self.lacking(rank).find(|&other| self.may_trigger(task, other));
            let event = lacking.or_else(|| {
                let mut others = self.events_of(rank).filter(|&other| other != event);
                others.find(|&other| self.is_of_siblings(task, other) && self.may_trigger(task, other))
            })?;
            Some(Repair::Trigger { task, event })
        });
        let owner = self.world.event_place(event).0;
        let puts = puts.into_iter().filter_map(|task| {
            let event =
                self.events_of(owner).find(|&other| other != event && self.wants(other, task, event))?;
            Some(Repair::Trigger { task, event })
        });
        strays.chain(puts).next()
    }

    /// Whether tasks of the same type trigger an event.
    fn is_of_siblings(&self, task: TaskId, event: CounterId) -> bool {
        let kind = self.world.task(task).task_type;
        let producers = self.world.producers.of(event);
        producers.iter().any(|&other| other != task && self.world.task(other).task_type == kind)
    }

    /// Whether an event has fewer puts of a put's rank than another one has, and the tile of this put is what its dependents work on.
    fn wants(&self, event: CounterId, put: TaskId, than: CounterId) -> bool {
        let world = self.world;
        let of_rank = |event: CounterId| {
            let producers = world.producers.of(event).iter();
            producers.filter(|&&other| world.rank(other) == world.rank(put)).count()
        };
        let Some(source) = world.task(put).inputs().first() else { return false };
        let works_on = |&task: &TaskId| {
            world.task(task).inputs().first().is_some_and(|tile| {
                (&*tile.base_ptr, tile.offset, &tile.dims) == (&*source.base_ptr, source.offset, &source.dims)
            })
        };
        self.is_of_puts(event)
            && of_rank(event) < of_rank(than)
            && world.dependents.of(event).iter().any(works_on)
    }
}
