//! The graphs of a document as dense arrays: tasks and events numbered on through the ranks.
//!
//! The number of a task is a [`TaskId`]. That of an event is a [`CounterId`], as it is to [`megakernel_order`], and so is that of a
//! meeting of collectives: those stand past the events. Numbers within one rank are bare.

use megakernel_ir::{CounterId, TaskId};
use megakernel_task_graph::{EVENT_INVALID, Event, EventId, EventType, KernelGraph, Task};

use crate::types::{self, REDUCE};
use crate::validate::Graphs;
use crate::validate::meetings::Meetings;
use crate::validate::rank::Rank;

/// Where a trigger leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// To the event of this number.
    Event(CounterId),
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
    pub dependent: Vec<Option<CounterId>>,
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
    tasks: Vec<TaskId>,
}

impl Lists {
    fn new(events: usize, pairs: impl Iterator<Item = (CounterId, TaskId)> + Clone) -> Lists {
        let mut starts = vec![0u32; events + 1];
        pairs.clone().for_each(|(event, _)| starts[event.index() + 1] += 1);
        for event in 0..events {
            starts[event + 1] += starts[event];
        }
        let mut next = starts.clone();
        let mut tasks = vec![TaskId::default(); starts[events] as usize];
        for (event, task) in pairs {
            let place = &mut next[event.index()];
            tasks[*place as usize] = task;
            *place += 1;
        }
        Lists { starts, tasks }
    }

    /// Of one event.
    pub fn of(&self, event: CounterId) -> &[TaskId] {
        let event = event.index();
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
        let at = |rank: usize, id: EventId| CounterId::from(event_starts[rank] + id.position);
        let (mut triggers, mut dependent) = (Vec::new(), Vec::new());
        for (index, rank) in ranks.iter().enumerate() {
            for (number, task) in rank.graph.all_tasks.iter().enumerate() {
                // TERMINATE and BEGIN stand outside: nothing waits for what they trigger.
                let bits = if number < 2 { EVENT_INVALID } else { task.trigger_event };
                triggers.push(match EventId::from_bits(bits) {
                    None => Trigger::Nothing,
                    Some(id) if !id.nvshmem => Trigger::Event(at(index, id)),
                    Some(id) => match ranks.iter().position(|other| match is_partial {
                        true => std::ptr::eq(other, rank) && id.rank == rank.declared,
                        false => other.number == usize::from(id.rank),
                    }) {
                        Some(owner) => Trigger::Event(at(owner, id)),
                        None => Trigger::Elsewhere,
                    },
                });
                dependent.push(EventId::from_bits(task.dependent_event).map(|id| at(index, id)));
            }
        }
        let by_trigger = triggers.iter().enumerate().filter_map(|(task, trigger)| match trigger {
            Trigger::Event(event) => Some((*event, TaskId::at(task))),
            _ => None,
        });
        let by_wait =
            dependent.iter().enumerate().filter_map(|(task, event)| Some(((*event)?, TaskId::at(task))));
        let kernel_graph = match *graphs {
            Graphs::Bare(_, kernel_graph) | Graphs::System(_, kernel_graph) => kernel_graph,
        };
        let all = ranks.iter().enumerate();
        let all = all.flat_map(|(rank, of)| of.graph.all_tasks.iter().map(move |task| (rank, task)));
        let meetings = match is_partial || ranks.len() < 2 {
            true => Meetings::default(),
            false => Meetings::new(
                ranks.len(),
                all.enumerate().map(|(index, (rank, task))| (TaskId::at(index), rank, task)),
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
    pub fn tasks(&self) -> usize {
        self.triggers.len()
    }

    /// Number of events of all ranks.
    pub fn events(&self) -> usize {
        self.event_starts[self.ranks.len()] as usize
    }

    /// Number of events of all ranks and of meetings.
    pub fn waits(&self) -> usize {
        self.events() + self.meetings.len()
    }

    /// The tasks of all ranks.
    pub fn task_ids(&self) -> impl DoubleEndedIterator<Item = TaskId> + Clone + use<> {
        TaskId::range(0..self.tasks())
    }

    /// The events of all ranks.
    pub fn event_ids(&self) -> impl DoubleEndedIterator<Item = CounterId> + Clone + use<> {
        CounterId::range(0..self.events())
    }

    /// The index of a task's rank, and its number there.
    pub fn place(&self, task: TaskId) -> (usize, u32) {
        let task = u32::from(task);
        let rank = self.task_starts.partition_point(|&start| start <= task).saturating_sub(1);
        (rank, task - self.task_starts[rank])
    }

    /// The index of a task's rank.
    pub fn rank(&self, task: TaskId) -> usize {
        self.place(task).0
    }

    /// The index of an event's rank, and its position there.
    pub fn event_place(&self, event: CounterId) -> (usize, u32) {
        let event = u32::from(event);
        let rank = self.event_starts.partition_point(|&start| start <= event).saturating_sub(1);
        (rank, event - self.event_starts[rank])
    }

    /// The event at a position of a rank.
    pub fn event_at(&self, rank: usize, position: u32) -> Option<CounterId> {
        let [start, end] = [*self.event_starts.get(rank)?, *self.event_starts.get(rank + 1)?];
        start.checked_add(position).filter(|&event| event < end).map(CounterId::from)
    }

    /// The tasks of a rank by their numbers through all ranks.
    pub fn tasks_of(&self, rank: usize) -> impl DoubleEndedIterator<Item = TaskId> + Clone + use<> {
        TaskId::range(self.task_starts[rank] as usize..self.task_starts[rank + 1] as usize)
    }

    /// A task's record.
    pub fn task(&self, task: TaskId) -> &'g Task<'a> {
        let (rank, number) = self.place(task);
        &self.ranks[rank].graph.all_tasks[number as usize]
    }

    /// An event's record.
    pub fn event(&self, event: CounterId) -> &'g Event<'a> {
        let (rank, position) = self.event_place(event);
        &self.ranks[rank].graph.all_events[position as usize]
    }

    /// JSON pointer of a member of a task.
    pub fn at_task(&self, task: TaskId, member: &str) -> String {
        let (rank, number) = self.place(task);
        self.ranks[rank].at(&format!("/all_tasks/{number}{member}"))
    }

    /// JSON pointer of a member of an event.
    pub fn at_event(&self, event: CounterId, member: &str) -> String {
        let (rank, position) = self.event_place(event);
        self.ranks[rank].at(&format!("/all_events/{position}{member}"))
    }

    /// A task in messages.
    pub fn task_name(&self, task: TaskId) -> String {
        let (rank, number) = self.place(task);
        let kind = types::name(self.task(task).task_type);
        match self.ranks[rank].is_in_system() {
            true => format!("task {number} of rank {rank} ({kind})"),
            false => format!("task {number} ({kind})"),
        }
    }

    /// An event in messages.
    pub fn event_name(&self, event: CounterId) -> String {
        let (rank, position) = self.event_place(event);
        match self.ranks[rank].is_in_system() {
            true => format!("event {position} of rank {rank}"),
            false => format!("event {position}"),
        }
    }

    /// The meeting that a task takes part in, as what it waits for.
    pub fn meeting(&self, task: TaskId) -> Option<CounterId> {
        self.meetings.of(task).map(|meeting| CounterId::at(self.events() + meeting))
    }

    /// The tasks that meet a task, itself among them; none if it meets nobody.
    pub fn mates(&self, task: TaskId) -> &[TaskId] {
        self.meetings.of(task).map_or(&[], |meeting| self.meetings.tasks(meeting))
    }

    /// What a task waits for: an event, or the meeting that it takes part in.
    pub fn wait(&self, task: TaskId) -> Option<CounterId> {
        self.meeting(task).or(self.dependent[task.index()])
    }

    /// The tasks that wait for an event, or take part in a meeting.
    pub fn waiters(&self, wait: CounterId) -> &[TaskId] {
        match wait.index().checked_sub(self.events()) {
            None => self.dependents.of(wait),
            Some(meeting) => self.meetings.tasks(meeting),
        }
    }

    /// Where it goes on from what a task waits for: to the meeting of a collective from its event, else to what the task triggers.
    pub fn onward(&self, from: CounterId, task: TaskId) -> Option<CounterId> {
        match (self.wait(task), self.triggers[task.index()]) {
            (Some(wait), _) if wait != from => Some(wait),
            (_, Trigger::Event(event)) => Some(event),
            _ => None,
        }
    }

    /// Whether an event ends an iteration of its rank.
    pub fn is_end(&self, event: CounterId) -> bool {
        self.event(event).event_type == EventType::EndOfTaskGraph as i64
    }

    /// Whether somebody waits for the event: tasks, or the scheduler for the end of the iteration.
    pub fn is_awaited(&self, event: CounterId) -> bool {
        let is_empty = self.event(event).event_type == EventType::Empty as i64;
        self.is_end(event) || is_empty && !self.dependents.of(event).is_empty()
    }

    /// Whether tasks of ranks that are not there may trigger the event.
    pub fn is_from_elsewhere(&self, event: CounterId) -> bool {
        self.is_partial
            && (self.dependents.of(event).iter().any(|&task| {
                let task = self.task(task);
                task.task_type == REDUCE
                    || EventId::from_bits(task.dependent_event).is_some_and(|id| id.nvshmem)
            }) || self.producers.of(event).iter().any(|&task| types::is_put(self.task(task).task_type)))
    }
}
