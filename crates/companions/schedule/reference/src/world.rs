//! A schedule as flat arrays, all repetition done: what the rules on deadlock and on races are judged on.

use std::collections::HashSet;
use std::ops::Range;

use megakernel_schedule::{Init, Kind, Schedule};

/// No group.
pub const NO_GROUP: u32 = u32::MAX;

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
    pub task_of: Vec<u32>,
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
    pub value: u32,
    /// Its storage.
    pub storage: u32,
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
    pub written: u32,
    /// Which of its repetitions it is.
    pub copy: u32,
    /// Its queue: repetition may lead beyond 64 bits.
    pub queue: Option<i128>,
    /// Its phases.
    pub phases: Range<u32>,
}

/// An event and a number.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// The event.
    pub event: u32,
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
    pub phase: u32,
    /// The tensor.
    pub tensor: u32,
    /// What it does.
    pub does: Does,
    /// Its group, or [`NO_GROUP`].
    pub group: u32,
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
    pub fn range(&self, phase: usize) -> Range<usize> {
        self.starts[phase] as usize..self.starts[phase + 1] as usize
    }

    /// The list of a phase.
    pub fn of(&self, phase: usize) -> &[T] {
        &self.entries[self.range(phase)]
    }

    /// All entries.
    pub fn all(&self) -> &[T] {
        &self.entries
    }
}

impl World<'_> {
    /// Number of phases.
    pub fn phases(&self) -> usize {
        self.task_of.len()
    }

    /// The place of a phase in its task.
    pub fn place(&self, phase: u32) -> u32 {
        phase - self.tasks[self.task_of[phase as usize] as usize].phases.start
    }

    /// Where the tensor of an access lies.
    pub fn placed(&self, access: &Access) -> &Placed {
        &self.tensors[access.tensor as usize]
    }

    /// The bytes of an access.
    pub fn bytes(&self, access: &Access) -> &[[u64; 2]] {
        &self.intervals[access.intervals.start as usize..access.intervals.end as usize]
    }

    /// The accesses of some phases, in whose order they stand.
    pub fn accesses_of(&self, phases: &Range<u32>) -> &[Access] {
        let at = |phase: u32| self.accesses.partition_point(|access| access.phase < phase);
        &self.accesses[at(phases.start)..at(phases.end)]
    }

    /// The queue of a task, if its worker takes the tasks in their order.
    pub fn in_order(&self, task: &TaskAt) -> Option<i128> {
        task.queue.filter(|queue| !self.any_order.contains(queue))
    }

    /// The sums of all amounts, by event.
    pub fn totals(&self) -> Vec<u64> {
        let mut totals = vec![0; self.events.len()];
        for signal in self.signals.all() {
            totals[signal.event as usize] += signal.number;
        }
        totals
    }
}
