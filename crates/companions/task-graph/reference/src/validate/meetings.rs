//! Which collectives meet (clause TGR-23), and the rules on that: TX05 mismatched-collective, TX06 collectives-at-once.

use std::collections::BTreeMap;

use megakernel_ir::{Diagnostic, Rule, TaskId};
use megakernel_order::Findings;
use megakernel_order::happens_before::{HappensBefore, Question};
use megakernel_task_graph::{Task, Tile};

use crate::types;
use crate::validate::ranks::iteration::Reach;
use crate::validate::world::World;

/// The collectives of a system, by tasks numbered through all ranks.
#[derive(Debug, Default)]
pub struct Meetings {
    /// Of each task, the meeting that it takes part in. Empty if there are none at all.
    of: Vec<Option<u32>>,
    /// The tasks that meet, ascending.
    met: Vec<TaskId>,
    /// Of each meeting, its tasks, one of each rank.
    groups: Vec<Vec<TaskId>>,
    /// Those that lack a mate.
    alone: Vec<TaskId>,
    /// Of each team and rank, its tasks.
    teams: BTreeMap<i64, Vec<Vec<TaskId>>>,
}

/// The team of a collective.
fn team(task: &Task<'_>) -> i64 {
    task.task_offset.0.unwrap_or(0)
}

impl Meetings {
    /// The meetings of these tasks: number through all ranks, rank, record. There are this many ranks.
    pub fn new<'g, 'a: 'g>(
        ranks: usize,
        tasks: impl Iterator<Item = (TaskId, usize, &'g Task<'a>)>,
    ) -> Meetings {
        let mut meetings = Meetings::default();
        let mut count = 0;
        for (number, rank, task) in tasks {
            count = number.index() + 1;
            if types::is_collective(task.task_type) {
                let ranks = meetings.teams.entry(team(task)).or_insert_with(|| vec![Vec::new(); ranks]);
                ranks[rank].push(number);
            }
        }
        if meetings.teams.is_empty() {
            return meetings;
        }
        meetings.of = vec![None; count];
        for ranks in meetings.teams.values() {
            let shared = ranks.iter().map(Vec::len).min().unwrap_or(0);
            for index in 0..shared {
                let group: Vec<TaskId> = ranks.iter().map(|own| own[index]).collect();
                for &task in &group {
                    meetings.of[task.index()] = Some(meetings.groups.len() as u32);
                }
                meetings.groups.push(group);
            }
            meetings.alone.extend(ranks.iter().flat_map(|own| &own[shared..]));
        }
        meetings.alone.sort_unstable();
        meetings.met = meetings.groups.concat();
        meetings.met.sort_unstable();
        meetings
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// The meeting of a task.
    pub fn of(&self, task: TaskId) -> Option<usize> {
        self.of.get(task.index()).copied().flatten().map(|meeting| meeting as usize)
    }

    /// The tasks that take part in any, ascending.
    pub fn met(&self) -> &[TaskId] {
        &self.met
    }

    /// The team of a collective, and the collectives of this team, rank by rank.
    pub fn team_of(&self, task: TaskId) -> Option<(i64, &[Vec<TaskId>])> {
        let holds = |ranks: &&Vec<Vec<TaskId>>| ranks.iter().any(|own| own.binary_search(&task).is_ok());
        self.teams.iter().find(|(_, ranks)| holds(ranks)).map(|(&team, ranks)| (team, ranks.as_slice()))
    }

    /// Those that lack a mate, ascending.
    pub fn without_mates(&self) -> &[TaskId] {
        &self.alone
    }

    /// The tasks of a meeting.
    pub fn tasks(&self, meeting: usize) -> &[TaskId] {
        self.groups.get(meeting).map_or(&[], Vec::as_slice)
    }
}

/// TX05.
pub fn check(world: &World<'_, '_, '_>, findings: &mut Findings) {
    let tile = |task: TaskId| world.task(task).inputs().first();
    let same = |one: &Tile<'_>, other: &Tile<'_>| {
        (&*one.base_ptr, one.data_type, one.offset) == (&*other.base_ptr, other.data_type, other.offset)
            && one.dims == other.dims
            && one.strides == other.strides
    };
    let mut wrong = Vec::new();
    for &task in &world.meetings.alone {
        let message = format!(
            "{} waits for its mates, but some rank has fewer tasks of team {}; give every rank the same collectives in the same order",
            world.task_name(task),
            team(world.task(task))
        );
        wrong.push((task, vec![task], message));
    }
    for group in &world.meetings.groups {
        let Some((&first, others)) = group.split_first() else { continue };
        for &task in others {
            let agree = match (tile(first), tile(task)) {
                (Some(one), Some(other)) => same(one, other),
                (one, other) => one.is_none() && other.is_none(),
            };
            if !agree {
                let message = format!(
                    "{} meets {}, which sums up another tile; give every rank the same collectives in the same order",
                    world.task_name(task),
                    world.task_name(first)
                );
                wrong.push((task, vec![first, task], message));
            }
        }
    }
    wrong.sort_by_key(|(task, ..)| *task);
    for (task, tasks, message) in wrong {
        findings.report(Rule::TX05, || {
            Diagnostic::new(Rule::TX05, world.at_task(task, ""), message.clone()).tasks(tasks.iter().copied())
        });
    }
}

/// TX06.
pub fn at_once(
    world: &World<'_, '_, '_>,
    order: &HappensBefore<'_>,
    reach: &Reach<'_, '_, '_, '_>,
    findings: &mut Findings,
) {
    // The start of a collective stands in the order behind all tasks.
    let start = |task: TaskId| {
        TaskId::at(world.tasks() + world.meetings.met().partition_point(|&other| other < task))
    };
    let before = |pairs: &[(TaskId, TaskId)]| {
        let question = |&(earlier, later): &(TaskId, TaskId)| Question { earlier, later: start(later) };
        order.answer(&pairs.iter().map(question).collect::<Vec<_>>())
    };
    let neighbours: Vec<(TaskId, TaskId)> =
        world.meetings.teams.values().flatten().flat_map(|own| along(own, order)).collect();
    let mut answers = before(&neighbours).into_iter();
    for own in world.meetings.teams.values().flatten() {
        let mut broken = BTreeMap::<TaskId, (TaskId, bool)>::new();
        // Where neighbours are ordered, all are.
        let ordered = answers.by_ref().take(own.len().saturating_sub(1)).filter(|&answer| answer).count();
        if ordered + 1 < own.len() {
            for (index, &later) in own.iter().enumerate() {
                for &earlier in &own[..index] {
                    if !before(&[(earlier, later), (later, earlier)]).into_iter().any(|answer| answer) {
                        broken.entry(later).or_insert((earlier, false));
                    }
                }
            }
        }
        // Most lead to the end of their own rank, and meet nothing of the next iteration.
        let leaving: Vec<TaskId> = own.iter().copied().filter(|&first| reach.leaves(first)).collect();
        for &second in own {
            if let Some(&first) = leaving.iter().find(|&&first| reach.may_meet(first, second)) {
                broken.entry(second).or_insert((first, true));
            }
        }
        for (second, (first, is_next)) in broken {
            findings.report(Rule::TX06, || {
                let when = if is_next { " of the next iteration" } else { "" };
                let message = format!(
                    "{}{when} may start before {} has finished, and both are of team {}: each may meet the mates of the other; order them, or give them teams of their own",
                    world.task_name(second),
                    world.task_name(first),
                    team(world.task(second))
                );
                Diagnostic::new(Rule::TX06, world.at_task(second, ""), message).tasks([first, second])
            });
        }
    }
}

/// The tasks of a team on a rank as neighbours along happens-before.
fn along(own: &[TaskId], order: &HappensBefore<'_>) -> Vec<(TaskId, TaskId)> {
    let mut along = own.to_vec();
    along.sort_by_key(|&task| (order.rank(task), task));
    along.windows(2).map(|pair| (pair[0], pair[1])).collect()
}
