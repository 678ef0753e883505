//! The graphs of a document as dense arrays: tasks and events numbered on through the ranks.

use megakernel_task_graph::{EVENT_INVALID, Event, EventId, EventType, KernelGraph, Task};

use crate::types::{self, REDUCE};
use crate::validate::Graphs;
use crate::validate::meetings::Meetings;
use crate::validate::rank::Rank;

/// Where a trigger leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// To the event of this number.
    Event(u32),
    /// To an event of a rank that is not there to be looked at.
    Elsewhere,
    /// Nowhere.
    Nothing,
}

/// Everything that is judged. Built only where no TS rule is broken, so that every id leads somewhere.
pub struct World<'r, 'g, 'a> {
    /// The ranks.
    pub ranks: &'r [Rank<'g, 'a>],
    /// The declared tensors.
    pub kernel_graph: Option<&'g KernelGraph<'a>>,
    /// Whether edges between ranks are unknown: other ranks are not in the document, or the ids name wrong ones.
    pub is_partial: bool,
    task_starts: Vec<u32>,
    event_starts: Vec<u32>,
    /// Of each task.
    pub triggers: Vec<Trigger>,
    /// Of each task, the event that it waits for.
    pub dependent: Vec<Option<u32>>,
    /// Of each event, the tasks that trigger it.
    pub producers: Lists,
    /// Of each event, the tasks that wait for it.
    pub dependents: Lists,
    /// Which collectives meet; none where ranks are unknown.
    pub meetings: Meetings,
}

/// A list of tasks for each event, ascending.
#[derive(Debug, Default)]
pub struct Lists {
    starts: Vec<u32>,
    tasks: Vec<u32>,
}

impl Lists {
    fn new(events: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Lists {
        let mut starts = vec![0u32; events + 1];
        pairs.clone().for_each(|(event, _)| starts[event as usize + 1] += 1);
        for event in 0..events {
            starts[event + 1] += starts[event];
        }
        let mut next = starts.clone();
        let mut tasks = vec![0; starts[events] as usize];
        for (event, task) in pairs {
            tasks[next[event as usize] as usize] = task;
            next[event as usize] += 1;
        }
        Lists { starts, tasks }
    }

    /// Of one event.
    pub fn of(&self, event: u32) -> &[u32] {
        let event = event as usize;
        &self.tasks[self.starts[event] as usize..self.starts[event + 1] as usize]
    }
}

impl<'r, 'g, 'a> World<'r, 'g, 'a> {
    /// The world of ranks that break no TS rule.
    pub fn new(ranks: &'r [Rank<'g, 'a>], graphs: &Graphs<'g, 'a>, is_partial: bool) -> World<'r, 'g, 'a> {
        let starts = |count: fn(&Rank<'g, 'a>) -> usize| {
            let mut starts = vec![0u32];
            starts.extend(ranks.iter().scan(0, |sum, rank| {
                *sum += count(rank) as u32;
                Some(*sum)
            }));
            starts
        };
        let task_starts = starts(|rank| rank.graph.all_tasks.len());
        let event_starts = starts(|rank| rank.graph.all_events.len());
        let events = event_starts[ranks.len()] as usize;
        let (mut triggers, mut dependent) = (Vec::new(), Vec::new());
        for (index, rank) in ranks.iter().enumerate() {
            for (number, task) in rank.graph.all_tasks.iter().enumerate() {
                // TERMINATE and BEGIN stand outside: nothing waits for what they trigger.
                let bits = if number < 2 { EVENT_INVALID } else { task.trigger_event };
                triggers.push(match EventId::from_bits(bits) {
                    None => Trigger::Nothing,
                    Some(id) if !id.nvshmem => Trigger::Event(event_starts[index] + id.position),
                    Some(id) => match ranks.iter().position(|other| match is_partial {
                        true => std::ptr::eq(other, rank) && id.rank == rank.declared,
                        false => other.number == usize::from(id.rank),
                    }) {
                        Some(owner) => Trigger::Event(event_starts[owner] + id.position),
                        None => Trigger::Elsewhere,
                    },
                });
                dependent.push(
                    EventId::from_bits(task.dependent_event).map(|id| event_starts[index] + id.position),
                );
            }
        }
        let by_trigger = triggers.iter().enumerate().filter_map(|(task, trigger)| match trigger {
            Trigger::Event(event) => Some((*event, task as u32)),
            _ => None,
        });
        let by_wait = dependent.iter().enumerate().filter_map(|(task, event)| Some(((*event)?, task as u32)));
        let kernel_graph = match *graphs {
            Graphs::Bare(_, kernel_graph) | Graphs::System(_, kernel_graph) => kernel_graph,
        };
        let numbered = ranks.iter().enumerate().flat_map(|(index, rank)| {
            let tasks = rank.graph.all_tasks.iter().enumerate();
            tasks.map(move |(number, task)| (index, number, task))
        });
        let meetings = match is_partial || ranks.len() < 2 {
            true => Meetings::default(),
            false => Meetings::new(
                ranks.len(),
                numbered.map(|(rank, number, task)| (task_starts[rank] + number as u32, rank, task)),
            ),
        };
        World {
            meetings,
            producers: Lists::new(events, by_trigger),
            dependents: Lists::new(events, by_wait),
            ranks,
            kernel_graph,
            is_partial,
            task_starts,
            event_starts,
            triggers,
            dependent,
        }
    }

    /// Number of tasks of all ranks.
    pub fn tasks(&self) -> u32 {
        self.triggers.len() as u32
    }

    /// Number of events of all ranks.
    pub fn events(&self) -> u32 {
        self.event_starts[self.ranks.len()]
    }

    /// The index of a task's rank, and its number there.
    pub fn place(&self, task: u32) -> (usize, u32) {
        let rank = self.task_starts.partition_point(|&start| start <= task).saturating_sub(1);
        (rank, task - self.task_starts[rank])
    }

    /// The index of a task's rank.
    pub fn rank(&self, task: u32) -> usize {
        self.place(task).0
    }

    /// The index of an event's rank, and its position there.
    pub fn event_place(&self, event: u32) -> (usize, u32) {
        let rank = self.event_starts.partition_point(|&start| start <= event).saturating_sub(1);
        (rank, event - self.event_starts[rank])
    }

    /// The event at a position of a rank.
    pub fn event_at(&self, rank: usize, position: u32) -> Option<u32> {
        let [start, end] = [*self.event_starts.get(rank)?, *self.event_starts.get(rank + 1)?];
        start.checked_add(position).filter(|&event| event < end)
    }

    /// The tasks of a rank by their numbers through all ranks.
    pub fn tasks_of(&self, rank: usize) -> std::ops::Range<u32> {
        self.task_starts[rank]..self.task_starts[rank + 1]
    }

    /// A task's record.
    pub fn task(&self, task: u32) -> &'g Task<'a> {
        let (rank, number) = self.place(task);
        &self.ranks[rank].graph.all_tasks[number as usize]
    }

    /// An event's record.
    pub fn event(&self, event: u32) -> &'g Event<'a> {
        let (rank, position) = self.event_place(event);
        &self.ranks[rank].graph.all_events[position as usize]
    }

    /// JSON pointer of a member of a task.
    pub fn at_task(&self, task: u32, member: &str) -> String {
        let (rank, number) = self.place(task);
        self.ranks[rank].at(&format!("/all_tasks/{number}{member}"))
    }

    /// JSON pointer of a member of an event.
    pub fn at_event(&self, event: u32, member: &str) -> String {
        let (rank, position) = self.event_place(event);
        self.ranks[rank].at(&format!("/all_events/{position}{member}"))
    }

    /// A task in messages.
    pub fn task_name(&self, task: u32) -> String {
        let (rank, number) = self.place(task);
        let kind = types::name(self.task(task).task_type);
        match self.ranks[rank].is_in_system() {
            true => format!("task {number} of rank {rank} ({kind})"),
            false => format!("task {number} ({kind})"),
        }
    }

    /// An event in messages.
    pub fn event_name(&self, event: u32) -> String {
        let (rank, position) = self.event_place(event);
        match self.ranks[rank].is_in_system() {
            true => format!("event {position} of rank {rank}"),
            false => format!("event {position}"),
        }
    }

    /// What a task waits for: the number of an event, or, beyond those, of the meeting that it takes part in.
    pub fn wait(&self, task: u32) -> Option<u32> {
        let meeting = self.meetings.of(task).map(|meeting| self.events() + meeting);
        meeting.or(self.dependent[task as usize])
    }

    /// The tasks that wait for an event, or take part in a meeting.
    pub fn waiters(&self, wait: u32) -> &[u32] {
        match wait.checked_sub(self.events()) {
            None => self.dependents.of(wait),
            Some(meeting) => self.meetings.tasks(meeting),
        }
    }

    /// Where it goes on from what a task waits for: to the meeting of a collective from its event, else to what the task triggers.
    pub fn onward(&self, from: u32, task: u32) -> Option<u32> {
        match (self.wait(task), self.triggers[task as usize]) {
            (Some(wait), _) if wait != from => Some(wait),
            (_, Trigger::Event(event)) => Some(event),
            _ => None,
        }
    }

    /// Whether an event ends an iteration of its rank.
    pub fn is_end(&self, event: u32) -> bool {
        self.event(event).event_type == EventType::EndOfTaskGraph as i64
    }

    /// Whether somebody waits for the event: tasks, or the scheduler for the end of the iteration.
    pub fn is_awaited(&self, event: u32) -> bool {
        let is_empty = self.event(event).event_type == EventType::Empty as i64;
        self.is_end(event) || is_empty && !self.dependents.of(event).is_empty()
    }

    /// Whether tasks of ranks that are not there may trigger the event.
    pub fn is_from_elsewhere(&self, event: u32) -> bool {
        self.is_partial
            && (self.dependents.of(event).iter().any(|&task| {
                let task = self.task(task);
                task.task_type == REDUCE
                    || EventId::from_bits(task.dependent_event).is_some_and(|id| id.nvshmem)
            }) || self.producers.of(event).iter().any(|&task| types::is_put(self.task(task).task_type)))
    }
}
