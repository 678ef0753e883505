//! A schedule as flat arrays, all repetition done: what the rules on deadlock and on races are judged on.

use std::collections::HashSet;
use std::ops::Range;

use megakernel_ir::TaskId;
use megakernel_schedule::{Init, Kind, Schedule};

use crate::ids::{EventId, GroupId, Node, PhaseId, StorageId, TensorId};

/// No group.
pub const NO_GROUP: GroupId = GroupId::at(u32::MAX as usize);

/// A schedule, repeated tasks written out.
pub struct World<'d> {
    /// The document.
    pub document: &'d Schedule,
    /// Queues whose workers take any task that is ready.
    pub any_order: HashSet<i128>,
    /// Its tensors, in the order of the document.
    pub tensors: Vec<Placed>,
    /// How many storages there are, those of single tensors included.
    pub storages: usize,
    /// The tasks.
    pub tasks: Vec<TaskAt>,
    /// Phase to its task.
    pub task_of: Vec<TaskId>,
    /// Waits of all phases.
    pub waits: Lists<Count>,
    /// Signals of all phases.
    pub signals: Lists<Count>,
    /// Names of the events.
    pub events: Vec<String>,
    /// Periods of the events.
    pub periods: Vec<Option<u64>>,
    /// Accesses, in the order of the document.
    pub accesses: Vec<Access>,
    /// Half-open intervals of bytes of their storages.
    pub intervals: Vec<[u64; 2]>,
}

/// Where a tensor lies.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// The tensor that it is, or shows.
    pub value: TensorId,
    /// Its storage.
    pub storage: StorageId,
    /// Its first byte there.
    pub start: u64,
    /// What the value is for.
    pub kind: Kind,
    /// Who fills the value.
    pub init: Init,
}

/// A task.
#[derive(Clone, Debug)]
pub struct TaskAt {
    /// Its task in the document.
    pub written: usize,
    /// Which of its repetitions it is.
    pub copy: u32,
    /// Its queue: repetition may lead beyond 64 bits.
    pub queue: Option<i128>,
    /// Its phases.
    pub phases: Range<PhaseId>,
}

/// An event and a number.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// The event.
    pub event: EventId,
    /// Count or amount.
    pub number: u64,
}

/// What an access does. The order is that within a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Does {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It adds.
    Add,
}

/// An access of a phase.
#[derive(Clone, Debug)]
pub struct Access {
    /// The phase.
    pub phase: PhaseId,
    /// The tensor.
    pub tensor: TensorId,
    /// What it does.
    pub does: Does,
    /// Its group, or [`NO_GROUP`].
    pub group: GroupId,
    /// Its place in the list of the phase.
    pub index: u32,
    /// Its bytes, as indices of [`World::intervals`].
    pub intervals: Range<u32>,
}

/// A list for each phase, end to end.
#[derive(Debug)]
pub struct Lists<T> {
    starts: Vec<u32>,
    entries: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Lists<T> {
        Lists { starts: vec![0], entries: Vec::new() }
    }
}

impl<T> Lists<T> {
    /// Adds to the list of the next phase.
    pub fn add(&mut self, entry: T) {
        self.entries.push(entry);
    }

    /// Ends the list of the next phase.
    pub fn end(&mut self) {
        self.starts.push(self.entries.len() as u32);
    }

    /// Where the list of a phase stands among all entries.
    pub fn range(&self, phase: PhaseId) -> Range<usize> {
        let phase = phase.index();
        self.starts[phase] as usize..self.starts[phase + 1] as usize
    }

    /// The list of a phase.
    pub fn of(&self, phase: PhaseId) -> &[T] {
        &self.entries[self.range(phase)]
    }

    /// All entries.
    pub fn all(&self) -> &[T] {
        &self.entries
    }
}

impl TaskAt {
    /// The phases, in their order.
    pub fn each_phase(&self) -> impl DoubleEndedIterator<Item = PhaseId> + Clone + use<> {
        PhaseId::range(self.phases.start.index()..self.phases.end.index())
    }

    /// The phase at a place of the task.
    pub fn phase(&self, place: usize) -> PhaseId {
        PhaseId::at(self.phases.start.index() + place)
    }

    /// The last phase.
    pub fn last_phase(&self) -> Option<PhaseId> {
        self.each_phase().next_back()
    }
}

impl World<'_> {
    /// Number of phases.
    pub fn phases(&self) -> usize {
        self.task_of.len()
    }

    /// The phases of all tasks.
    pub fn phase_ids(&self) -> impl DoubleEndedIterator<Item = PhaseId> + Clone + use<> {
        PhaseId::range(0..self.phases())
    }

    /// The events.
    pub fn event_ids(&self) -> impl DoubleEndedIterator<Item = EventId> + Clone + use<> {
        EventId::range(0..self.events.len())
    }

    /// The tasks.
    pub fn task_ids(&self) -> impl DoubleEndedIterator<Item = TaskId> + Clone + use<> {
        TaskId::range(0..self.tasks.len())
    }

    /// The tasks with their ids.
    pub fn tasks_by_id(&self) -> impl DoubleEndedIterator<Item = (TaskId, &TaskAt)> {
        self.tasks.iter().enumerate().map(|(index, task)| (TaskId::at(index), task))
    }

    /// The phase that a node is; or of a join, its place among joins.
    pub fn as_phase(&self, node: Node) -> Result<PhaseId, usize> {
        match node.index().checked_sub(self.phases()) {
            None => Ok(PhaseId::at(node.index())),
            Some(join) => Err(join),
        }
    }

    /// The task of a phase.
    pub fn of_phase(&self, phase: PhaseId) -> &TaskAt {
        &self.tasks[self.task_of[phase.index()].index()]
    }

    /// The place of a phase in its task.
    pub fn place(&self, phase: PhaseId) -> usize {
        phase.index() - self.of_phase(phase).phases.start.index()
    }

    /// Where the tensor of an access lies.
    pub fn placed(&self, access: &Access) -> &Placed {
        &self.tensors[access.tensor.index()]
    }

    /// The bytes of an access.
    pub fn bytes(&self, access: &Access) -> &[[u64; 2]] {
        &self.intervals[access.intervals.start as usize..access.intervals.end as usize]
    }

    /// The accesses of a task, by the order of its phases.
    pub fn accesses_of(&self, task: &TaskAt) -> &[Access] {
        let at = |phase: PhaseId| self.accesses.partition_point(|access| access.phase < phase);
        &self.accesses[at(task.phases.start)..at(task.phases.end)]
    }

    /// The accesses of a phase.
    pub fn accesses_in(&self, phase: PhaseId) -> &[Access] {
        let from = self.accesses.partition_point(|access| access.phase < phase);
        let to = self.accesses.partition_point(|access| access.phase <= phase);
        &self.accesses[from..to]
    }

    /// The queue of a task, if its worker takes the tasks in their order.
    pub fn in_order(&self, task: &TaskAt) -> Option<i128> {
        task.queue.filter(|queue| !self.any_order.contains(queue))
    }

    /// The sums of all amounts, by event.
    pub fn totals(&self) -> Vec<u64> {
        let mut totals = vec![0; self.events.len()];
        for signal in self.signals.all() {
            totals[signal.event.index()] += signal.number;
        }
        totals
    }
}
