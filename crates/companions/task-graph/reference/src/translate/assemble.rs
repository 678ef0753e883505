//! Putting a graph together: reserved tasks and events, ids, and the tasks of an all-reduce.

use megakernel_task_graph::{Event, EventId, EventType, Task, TaskGraph};

use super::plan::{Block, Operand, Plan, task};
use super::{BEGIN, COPY, REDUCE, TERMINATE};

/// A graph that grows task by task and event by event.
#[derive(Debug)]
pub struct Assembly<'a> {
    rank: i64,
    tasks: Vec<Task<'a>>,
    events: Vec<Event<'a>>,
}

impl<'a> Assembly<'a> {
    /// With the two tasks and the two events that every graph has (clause TGR-12).
    pub fn new(rank: i64) -> Assembly<'a> {
        let mut graph = Assembly { rank, tasks: Vec::new(), events: Vec::new() };
        graph.push(task(TERMINATE, 0, Vec::new(), Vec::new()));
        graph.push(task(BEGIN, 0, Vec::new(), Vec::new()));
        graph.set_trigger(1, graph.event_id(1));
        graph.events.push(event(EventType::Termination, 1, 0, 0));
        graph.events.push(event(EventType::LaunchDependentTasks, 1, 2, 2));
        graph
    }

    /// Adds a task and returns its id.
    pub fn push(&mut self, task: Task<'a>) -> usize {
        self.tasks.push(task);
        self.tasks.len() - 1
    }

    /// The id that the next task gets.
    pub fn next_task(&self) -> usize {
        self.tasks.len()
    }

    /// The position that the next event gets.
    pub fn next_event(&self) -> usize {
        self.events.len()
    }

    /// The id of an event of this rank.
    pub fn event_id(&self, position: usize) -> i64 {
        EventId { rank: self.rank as u16, position: position as u32, nvshmem: false }.bits()
    }

    /// The id of the event at the same place of another rank's graph, as COPY triggers it.
    pub fn remote_id(&self, rank: i64, position: usize) -> i64 {
        EventId { rank: rank as u16, position: position as u32, nvshmem: true }.bits()
    }

    /// The tasks, for what is written into all of them.
    pub fn tasks_mut(&mut self) -> &mut [Task<'a>] {
        &mut self.tasks
    }

    /// Has a task trigger an event.
    pub fn set_trigger(&mut self, task: usize, trigger: i64) {
        if let Some(task) = self.tasks.get_mut(task) {
            task.trigger_event = trigger;
        }
    }

    /// Adds an event on which every task from `first` on depends. The published code adds it as one that launches its range
    /// (MASSIVE for eight tasks or more), and rewrites it so in the end (clause TGR-14).
    pub fn event(&mut self, triggers: i64, first: usize) {
        let id = self.event_id(self.events.len());
        self.event_by(id, triggers, first);
    }

    /// The same, with an id that has the tag.
    pub fn tagged_event(&mut self, triggers: i64, first: usize) {
        let id = self.remote_id(self.rank, self.events.len());
        self.event_by(id, triggers, first);
    }

    fn event_by(&mut self, id: i64, triggers: i64, first: usize) {
        for task in self.tasks.iter_mut().skip(first) {
            task.dependent_event = id;
        }
        self.events.push(event(EventType::Empty, triggers, first, self.tasks.len()));
    }

    /// Adds the end of the iteration, which the tasks `last` trigger.
    pub fn finish(mut self, last: &[usize]) -> TaskGraph<'a> {
        let end = self.event_id(self.events.len());
        last.iter().for_each(|&task| self.set_trigger(task, end));
        self.events.push(event(EventType::EndOfTaskGraph, last.len() as i64, 0, 0));
        if let Some(begin) = self.events.get_mut(1) {
            begin.last_task_id = self.tasks.len() as i64;
        }
        let invalid = megakernel_task_graph::EVENT_INVALID;
        let waits = |task: &Task<'_>| task.dependent_event != invalid;
        let first_tasks = self
            .tasks
            .iter()
            .enumerate()
            .skip(2)
            .filter(|(_, task)| !waits(task))
            .map(|(id, _)| id as i64)
            .collect();
        TaskGraph { all_events: self.events, all_tasks: self.tasks, first_tasks, extra: Vec::new() }
    }
}

fn event<'a>(kind: EventType, num_triggers: i64, first: usize, last: usize) -> Event<'a> {
    Event {
        event_type: kind as i64,
        first_task_id: first as i64,
        last_task_id: last as i64,
        num_triggers,
        extra: Vec::new(),
    }
}

/// The task that copies a block of the partial sum into this rank's slot of the buffer on another rank. The published tile
/// keeps the extents of all slots.
pub fn copy<'a>(plan: &Plan<'a>, [partial, buffer, _]: [&Operand; 3], block: Block) -> Task<'a> {
    let slot = plan.tensors[partial.tensor].elements() * plan.rank;
    task(COPY, 0, vec![plan.tile(partial, block)], vec![plan.tile_from(buffer, block, slot)])
}

/// The task that adds up what all ranks copied into the buffer of this one.
pub fn reduce<'a>(plan: &Plan<'a>, [partial, buffer, sum]: [&Operand; 3], block: Block) -> Task<'a> {
    let inputs = vec![plan.tile(partial, block), plan.tile(buffer, block)];
    task(REDUCE, 0, inputs, vec![plan.tile(sum, block)])
}
