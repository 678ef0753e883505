//! What would repair a finding: the missing trigger, the missing wait, the missing put, the missing collective. A repair is offered only
//! where it makes no cycle with the order that is there.

mod collectives;
mod redirect;
mod values;

use std::collections::BTreeSet;

use megakernel_ir::rule::Class;
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::HappensBefore;
use megakernel_order::happens_before::Question;
use megakernel_task_graph::Task;

use crate::types;
use crate::validate::Graphs;
use crate::validate::order::Events;
use crate::validate::rank::Rank;
use crate::validate::world::{Trigger, World};

/// A change of the graphs after which a finding is gone. Tasks and events are numbered on through the ranks; ids may have to be dealt
/// out anew afterwards, so that they ascend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// The task waits for this event, in place of what it waits for now and what comes before the event.
    Wait {
        /// The task.
        task: TaskId,
        /// The event.
        event: CounterId,
    },
    /// The task triggers this event, in place of what it triggers now. The event counts one more unless its count lacks one already.
    Trigger {
        /// The task.
        task: TaskId,
        /// The event.
        event: CounterId,
    },
    /// A new event between two tasks, in place of what the first triggers and the second waits for now.
    New {
        /// The tasks.
        tasks: [TaskId; 2],
    },
    /// Two events become one, with the producers and the dependents of both.
    Join {
        /// The events.
        events: [CounterId; 2],
    },
    /// Another put like this one, to the slot of its own rank, triggers this event, which counts one more.
    Put {
        /// The put.
        like: TaskId,
        /// The event.
        event: CounterId,
    },
    /// One more exchange between the ranks that comes after the first task and before the second.
    Exchange {
        /// The tasks.
        tasks: [TaskId; 2],
    },
    /// The event counts all tasks that trigger it.
    Count {
        /// The event.
        event: CounterId,
    },
    /// Ids are dealt out anew, by which the first task comes before the second.
    Renumber {
        /// The tasks.
        tasks: [TaskId; 2],
    },
    /// The task writes an output to a tensor of its own.
    Apart {
        /// The task.
        task: TaskId,
        /// The output, by its position.
        output: usize,
    },
    /// A new task sets an output of this one to its start value, before all that wait for the same and add to it.
    Start {
        /// The task.
        task: TaskId,
        /// The output, by its position.
        output: usize,
    },
    /// The collective is one of this team.
    Team {
        /// The collective.
        task: TaskId,
        /// The team.
        team: i64,
    },
    /// A rank gets a collective like this one, between events at the same positions and before this task of it, if any.
    Mate {
        /// The collective.
        like: TaskId,
        /// The rank.
        rank: usize,
        /// The task before which its id stands.
        before: Option<TaskId>,
    },
}

/// Repairs of findings, each with its words.
pub fn repairs(graphs: &Graphs<'_, '_>, findings: &[&Diagnostic]) -> Vec<Option<(Repair, String)>> {
    let none = || findings.iter().map(|_| None).collect();
    let cannot_run = |found: &&&Diagnostic| {
        matches!(found.rule.class(), Class::STRUCTURE | Class::TASK_GRAPH_STRUCTURE)
            || found.rule == Rule::TX01
    };
    // What is repaired is an error; a graph without one is not ordered again.
    if !findings.iter().any(|found| found.is_error()) || findings.iter().any(|found| cannot_run(&found)) {
        return none();
    }
    let ranks = Rank::of(graphs);
    let is_partial = matches!(graphs, Graphs::Bare(..)) && ranks.iter().any(Rank::reaches_others);
    let world = World::new(&ranks, graphs, is_partial);
    let events = Events::new(&world);
    let order = events.order.as_ref().filter(|_| !redirect::has_loop(&world));
    let order = order.map(|order| HappensBefore::new(&events.graph, order));
    let known = Known { world: &world, order, graphs };
    // As long as ranks meet wrongly, everything else is judged by an order that is not meant.
    let meets = findings.iter().any(|found| found.rule == Rule::TX05);
    let repair = |found: &&Diagnostic| {
        let repair = if meets && found.rule != Rule::TX05 { None } else { known.repair(found) }?;
        Some((repair, known.words(repair)))
    };
    findings.iter().map(repair).collect()
}

struct Known<'w, 'r, 'g, 'a> {
    world: &'w World<'r, 'g, 'a>,
    /// Nothing where there is a cycle.
    order: Option<HappensBefore<'w>>,
    graphs: &'w Graphs<'g, 'a>,
}

impl Known<'_, '_, '_, '_> {
    fn repair(&self, found: &Diagnostic) -> Option<Repair> {
        let (tasks, events) = (&*found.tasks, &*found.counters);
        if self.order.is_none() {
            return if found.rule == Rule::TD03 { self.open(tasks) } else { None };
        }
        match (found.rule, tasks) {
            (Rule::TD01 | Rule::TD02, _) => {
                let &event = events.first()?;
                let rank = self.world.event_place(event).0;
                let lost = self.world.tasks_of(rank).skip(2).find(|&task| self.belongs(task, event));
                let triggers = |task| Repair::Trigger { task, event };
                let count = || (found.rule == Rule::TD02).then_some(Repair::Count { event });
                lost.map(triggers).or_else(|| self.strayed(event)).or_else(count)
            }
            (Rule::TR01, _) => {
                let &event = events.first()?;
                self.stray(event).or(Some(Repair::Count { event }))
            }
            (Rule::TD04, &[later, earlier]) => self.descends(earlier, later),
            (Rule::TD05, &[task, ..]) if self.leads_to(task).is_some() => self.missing_wait(task),
            (Rule::TD05, &[task, ..]) => {
                let mut events: Vec<CounterId> = self.world.event_ids().collect();
                events.sort_by_key(|&event| self.world.is_end(event));
                let event = events.into_iter().find(|&event| self.belongs(task, event))?;
                Some(Repair::Trigger { task, event })
            }
            (Rule::TR05, &[task, ..]) => self.apart(task, &found.pointer),
            (Rule::TR07, &[task, ..]) => self.start(task, &found.pointer),
            (Rule::TX02, _) => self.misaligned(*events.first()?),
            (Rule::TX04, &[first, second]) => Some(Repair::Exchange { tasks: [first, second] }),
            (Rule::TX05, &[alone]) => self.mate_of(alone),
            (Rule::TX05, &[first, other]) => self.mates_apart(first, other),
            (
                Rule::TR02 | Rule::TR03 | Rule::TR04 | Rule::TR06 | Rule::TX03 | Rule::TX06,
                &[one, other, ..],
            ) if one != other => self.put_in_order(one.min(other), one.max(other), found),
            _ => None,
        }
    }

    fn is_before(&self, earlier: TaskId, later: TaskId) -> bool {
        let question = Question { earlier, later };
        let answer = self.order.as_ref().map(|order| order.answer(&[question]));
        answer.is_some_and(|answer| answer.first() == Some(&true))
    }

    /// Whether all producers of an event come before a task.
    fn is_awaited_by(&self, event: CounterId, task: TaskId) -> bool {
        self.world.dependent[task.index()] == Some(event)
            || self.world.producers.of(event).first().is_some_and(|&producer| self.is_before(producer, task))
    }

    /// What a task triggers, if that does not end the iteration.
    fn leads_to(&self, task: TaskId) -> Option<CounterId> {
        match self.world.triggers[task.index()] {
            Trigger::Event(event) if !self.world.is_end(event) => Some(event),
            _ => None,
        }
    }

    /// Whether puts trigger the event, or may.
    fn is_of_puts(&self, event: CounterId) -> bool {
        let is_put = |&task: &TaskId| types::is_put(self.world.task(task).task_type);
        self.world.is_from_elsewhere(event) || self.world.producers.of(event).iter().any(is_put)
    }

    /// Whether the task, which leads nowhere, is the one that an event waits for in vain.
    fn belongs(&self, task: TaskId, event: CounterId) -> bool {
        let world = self.world;
        if world.triggers[task.index()] != Trigger::Nothing
            || world.rank(task) != world.event_place(event).0
            || !world.is_awaited(event)
            || !self.lacks(event)
            || self.is_of_puts(event)
        {
            return false;
        }
        self.fits(task, event) && !self.would_close(task, event)
    }

    /// Whether a task that triggers the event comes after one that waits for it.
    fn would_close(&self, task: TaskId, event: CounterId) -> bool {
        self.world.dependents.of(event).iter().any(|&other| other == task || self.is_before(other, task))
    }

    /// Whether two tasks are of one type and write a tensor in common.
    fn are_alike(&self, one: TaskId, other: TaskId) -> bool {
        let [one, other] = [one, other].map(|task| self.world.task(task));
        let written = |name: &str| other.outputs().iter().any(|tile| &*tile.base_ptr == name);
        one.task_type == other.task_type && one.outputs().iter().any(|tile| written(&tile.base_ptr))
    }

    /// Whether an event counts more triggers than there are.
    fn lacks(&self, event: CounterId) -> bool {
        let producers = self.world.producers.of(event).len();
        i128::from(self.world.event(event).num_triggers) > producers as i128
    }

    /// Whether a task has to do with what triggers the event, or waits for it.
    fn fits(&self, task: TaskId, event: CounterId) -> bool {
        let world = self.world;
        world.is_end(event)
            || world.producers.of(event).iter().any(|&other| self.are_alike(task, other))
            || world.dependents.of(event).iter().any(|&other| self.have_in_common(task, other))
    }

    /// Whether one of two tasks writes a tensor that the other one reads or writes, whatever parts of it.
    fn have_in_common(&self, one: TaskId, other: TaskId) -> bool {
        let [one, other] = [one, other].map(|task| self.world.task(task));
        let tiles = |task: &Task<'_>, is_written: bool| -> BTreeSet<String> {
            let listed = [(false, task.inputs()), (true, task.outputs())].into_iter().flat_map(
                |(is_output, tiles)| {
                    tiles.iter().enumerate().map(move |(position, tile)| (is_output, position, tile))
                },
            );
            let counts = listed.filter(|(is_output, position, tile)| {
                !tile.is_null() && (!is_written || types::writes(task.task_type, *is_output, *position))
            });
            counts.map(|(.., tile)| tile.base_ptr.to_string()).collect()
        };
        !tiles(one, true).is_disjoint(&tiles(other, false))
            || !tiles(one, false).is_disjoint(&tiles(other, true))
    }

    /// The wait for an event for which nobody waits, by a later task that waits for nothing and has a tensor in common with those that
    /// trigger the event.
    fn missing_wait(&self, task: TaskId) -> Option<Repair> {
        let world = self.world;
        let event = self.leads_to(task).filter(|&event| world.dependents.of(event).is_empty())?;
        let producers = world.producers.of(event);
        let mut later = world.tasks_of(world.rank(task)).skip(2).filter(|&other| {
            world.dependent[other.index()].is_none()
                && producers.iter().all(|&task| task < other)
                && producers.iter().any(|&task| self.have_in_common(task, other))
        });
        let waiter = later.find(|&other| !producers.iter().any(|&task| self.is_before(other, task)))?;
        Some(Repair::Wait { task: waiter, event })
    }

    /// What makes `first` come before `second`, which nothing orders.
    fn put_in_order(&self, first: TaskId, second: TaskId, found: &Diagnostic) -> Option<Repair> {
        let world = self.world;
        if world.rank(first) != world.rank(second) || self.is_before(second, first) {
            return Some(Repair::Exchange { tasks: [first, second] });
        }
        // Two iterations, or a put that triggers an event of another rank: nothing of this rank can wait for it.
        let leaves = match world.triggers[first.index()] {
            Trigger::Event(event) => world.event_place(event).0 != world.rank(first),
            Trigger::Elsewhere => true,
            Trigger::Nothing => false,
        };
        if leaves || found.rule == Rule::TX06 && self.is_before(first, second) {
            return Some(Repair::Exchange { tasks: [first, second] });
        }
        if let Some(put) = self.own_put(first, second) {
            return Some(put);
        }
        let (from, to) = (self.leads_to(first), world.dependent[second.index()]);
        match (from, to) {
            (None, Some(event)) => (!self.is_of_puts(event) && !self.is_awaited_by(event, first))
                .then_some(Repair::Trigger { task: first, event }),
            (None, None) => Some(Repair::New { tasks: [first, second] }),
            (Some(event), to) => {
                let Some(&waits) = world.dependents.of(event).first() else {
                    let producers = world.producers.of(event);
                    let follows =
                        producers.iter().all(|&task| task != second && !self.is_before(second, task));
                    let implied = to.is_none_or(|to| self.is_awaited_by(to, first));
                    return (follows && implied).then_some(Repair::Wait { task: second, event }).or_else(
                        || {
                            let to =
                                to.filter(|&to| !self.is_of_puts(to) && !self.is_awaited_by(to, first))?;
                            Some(Repair::Trigger { task: first, event: to })
                        },
                    );
                };
                // Who waits for what the first triggers comes after the second: the first can lead there by way of the second.
                if second == waits || self.is_before(second, waits) {
                    return match to {
                        Some(to) if !self.is_awaited_by(to, first) => {
                            (!self.is_of_puts(to)).then_some(Repair::Trigger { task: first, event: to })
                        }
                        _ => Some(Repair::New { tasks: [first, second] }),
                    };
                }
                match to {
                    // Who waits for that comes after all that the second waits for now.
                    None => Some(Repair::Wait { task: second, event }),
                    Some(to) if self.is_awaited_by(to, waits) => Some(Repair::Wait { task: second, event }),
                    Some(to) => (!self.is_of_puts(event) && !self.is_of_puts(to))
                        .then_some(Repair::Join { events: [event.min(to), event.max(to)] }),
                }
            }
        }
    }

    /// The put to the own slot that stands between two tasks of a rank as the others' puts do.
    fn own_put(&self, first: TaskId, second: TaskId) -> Option<Repair> {
        let world = self.world;
        let rank = world.rank(first);
        for put in world.tasks_of(rank).filter(|&task| types::is_put(world.task(task).task_type)) {
            let Trigger::Event(there) = world.triggers[put.index()] else { continue };
            let (owner, position) = world.event_place(there);
            if owner == rank {
                continue;
            }
            // The event at the same position here is what the puts of the others trigger.
            let Some(here) = world.event_at(rank, position) else { continue };
            let is_own = |&task: &TaskId| world.rank(task) == rank;
            if !world.producers.of(here).iter().any(is_own)
                && self.is_before(first, put)
                && self.is_awaited_by(here, second)
            {
                return Some(Repair::Put { like: put, event: here });
            }
        }
        None
    }

    fn words(&self, repair: Repair) -> String {
        let (task, event) = (|task| self.world.task_name(task), |event| self.world.event_name(event));
        match repair {
            Repair::Wait { task: waiter, event: on } => match self.world.dependent[waiter.index()] {
                Some(now) if self.order.is_none() => {
                    format!("let {} wait for {} in place of {}", task(waiter), event(on), event(now))
                }
                Some(now) => format!(
                    "let {} wait for {}, which comes after {} that it waits for now",
                    task(waiter),
                    event(on),
                    event(now)
                ),
                None => format!("let {} wait for {}", task(waiter), event(on)),
            },
            Repair::Trigger { task: lost, event: on } => {
                let (found, counted) = (self.world.producers.of(on).len(), self.world.event(on).num_triggers);
                let count = match i128::from(counted) > found as i128 {
                    true => "which counts it already".to_owned(),
                    false => format!("whose num_triggers becomes {}", found + 1),
                };
                let now = match self.world.triggers[lost.index()] {
                    Trigger::Event(now) if self.counts_too_few(now) => {
                        format!(" in place of {}, which does not count it", event(now))
                    }
                    Trigger::Event(now) => format!(" in place of {}, which counts one less", event(now)),
                    _ => String::new(),
                };
                format!("let {} trigger {}, {count}{now}", task(lost), event(on))
            }
            Repair::New { tasks: [one, other] } => {
                let now = match self.world.dependent[other.index()] {
                    Some(now) => format!(" in place of {}", event(now)),
                    None => String::new(),
                };
                format!("let {} trigger a new event that {} waits for{now}", task(one), task(other))
            }
            Repair::Join { events: [one, other] } => {
                let all = self.world.producers.of(one).len() + self.world.producers.of(other).len();
                format!(
                    "make {} and {} one event of {all} triggers, for which the dependents of both wait",
                    event(one),
                    event(other)
                )
            }
            Repair::Put { like, event: on } => format!(
                "copy to the own slot too: beside {}, a put of the same tile that triggers {}, which counts one more for each such put",
                task(like),
                event(on)
            ),
            Repair::Exchange { tasks: [one, other] } => format!(
                "one more exchange between the ranks, after {} and before {}; or a buffer of its own for each exchange",
                task(one),
                task(other)
            ),
            Repair::Count { event: on } => {
                let found = self.world.producers.of(on).len();
                format!("let {} count all that trigger it: num_triggers becomes {found}", event(on))
            }
            Repair::Renumber { tasks: [one, other] } => format!(
                "deal out the ids of this rank anew: the tasks of an event after all that trigger it, so that {} comes before {}",
                task(one),
                task(other)
            ),
            Repair::Apart { task: writer, output } => format!(
                "let {} write output {output} to a tensor of its own, and whoever was meant to read it read that; or leave the write out",
                task(writer)
            ),
            Repair::Start { task: adder, output } => {
                let before = match self.world.dependent[adder.index()] {
                    Some(now) => format!("triggers {}, which counts one more", event(now)),
                    None => "triggers a new event that all who add to it wait for".to_owned(),
                };
                format!(
                    "set output {output} of {} to its start value first: a TENSOR_INIT of this tile, which waits for nothing and {before}",
                    task(adder)
                )
            }
            Repair::Team { task: member, team } => {
                format!("give {} team {team}, as its mates have: task_offset becomes {team}", task(member))
            }
            Repair::Mate { like, rank, before } => {
                let place = match before {
                    Some(before) => format!(", before {}", task(before)),
                    None => String::new(),
                };
                format!(
                    "give rank {rank} the collective that it lacks{place}: one like {}, between the events at the same positions",
                    task(like)
                )
            }
        }
    }
}
