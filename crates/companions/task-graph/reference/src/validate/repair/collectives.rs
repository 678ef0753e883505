//! Collectives that meet nobody, or somebody else.

use megakernel_ir::{CounterId, TaskId};
use megakernel_task_graph::Tile;

use crate::validate::repair::{Known, Repair};

impl Known<'_, '_, '_, '_> {
    fn summed(&self, task: TaskId) -> Option<&Tile<'_>> {
        self.world.task(task).inputs().first()
    }

    fn sum_up_the_same(&self, one: TaskId, other: TaskId) -> bool {
        let key = |task: TaskId| {
            self.summed(task)
                .map(|tile| (tile.base_ptr.to_string(), tile.data_type, tile.offset, tile.dims.clone()))
        };
        key(one) == key(other)
    }

    /// What a collective without a mate on some rank lacks.
    pub(super) fn mate_of(&self, alone: TaskId) -> Option<Repair> {
        let (world, meetings) = (self.world, &self.world.meetings);
        let (own_team, team) = meetings.team_of(alone)?;
        let own = world.rank(alone);
        // As long as mates of the team sum up different things, it is one before this that is missing.
        if team.first()?.iter().enumerate().any(|(index, &first)| {
            team.iter().filter_map(|tasks| tasks.get(index)).any(|&mate| !self.sum_up_the_same(first, mate))
        }) {
            return None;
        }
        let index = team.get(own)?.iter().position(|&task| task == alone)?;
        // The only rank on which the team is too short for a place.
        let short = |team: &[Vec<TaskId>], index: usize| {
            let mut short = (0..team.len()).filter(|&rank| team[rank].len() <= index);
            short.next().filter(|_| short.next().is_none())
        };
        let place = |team: &[Vec<TaskId>], task: TaskId| {
            team[world.rank(task)].iter().filter(|&&other| other < task).count()
        };
        let rank = short(team, index);
        let others = meetings.without_mates().iter().copied().filter_map(|task| {
            let (number, ranks) = meetings.team_of(task).filter(|(number, _)| *number != own_team)?;
            self.sum_up_the_same(alone, task).then_some((task, number, ranks))
        });
        for (task, number, ranks) in others {
            // One of the two is of the wrong team: the one whose team has it on no other rank.
            if rank == Some(world.rank(task)) && place(team, task) == index {
                return Some(Repair::Team { task, team: own_team });
            }
            let there = ranks.get(world.rank(task))?.iter().position(|&other| other == task)?;
            if short(ranks, there) == Some(own) && place(ranks, alone) == there {
                return Some(Repair::Team { task: alone, team: number });
            }
        }
        self.missing(alone, rank?, None)
    }

    /// The collective that one of two ranks lacks, so that others meet which sum up different things.
    pub(super) fn mates_apart(&self, first: TaskId, other: TaskId) -> Option<Repair> {
        let (world, meetings) = (self.world, &self.world.meetings);
        let (_, team) = meetings.team_of(first)?;
        let [own, there] = [first, other].map(|task| team.get(world.rank(task)));
        let (own, there) = (own?, there?);
        let index = own.iter().position(|&task| task == first)?;
        if own.len() > there.len()
            && own.get(index + 1).is_some_and(|&next| self.sum_up_the_same(next, other))
        {
            return self.missing(first, world.rank(other), Some(other));
        }
        if own.len() < there.len()
            && there.get(index + 1).is_some_and(|&next| self.sum_up_the_same(next, first))
        {
            return self.missing(other, world.rank(first), Some(first));
        }
        None
    }

    /// A collective like this one, if the other rank has events like those that it stands between.
    fn missing(&self, like: TaskId, rank: usize, before: Option<TaskId>) -> Option<Repair> {
        let world = self.world;
        let alike = |event: CounterId| {
            let (owner, position) = world.event_place(event);
            let of_dependents = |event: CounterId| {
                let kinds = world.dependents.of(event).iter().map(|&task| world.task(task).task_type);
                kinds.filter(|&kind| kind != world.task(like).task_type).min()
            };
            world.event_at(rank, position).is_some_and(|there| {
                owner != rank
                    && world.event(there).event_type == world.event(event).event_type
                    && of_dependents(there) == of_dependents(event)
            })
        };
        let wait = world.dependent[like.index()];
        let trigger = match world.triggers[like.index()] {
            crate::validate::world::Trigger::Event(event) => Some(event),
            _ => None,
        };
        (wait.is_none_or(alike) && trigger.is_some_and(alike)).then_some(Repair::Mate { like, rank, before })
    }
}
