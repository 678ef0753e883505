//! Which counter each task increments and which it waits on, as it is read.

use megakernel_ir::{CounterId, TaskId};

/// A list of ids for each task, end to end.
#[derive(Debug, Default)]
pub struct Lists<Id> {
    ends: Vec<u32>,
    ids: Vec<Id>,
}

impl<Id> Lists<Id> {
    /// With room for so many tasks of a few ids each.
    pub fn with_capacity(tasks: usize) -> Lists<Id> {
        Lists { ends: Vec::with_capacity(tasks), ids: Vec::with_capacity(3 * tasks) }
    }

    /// Adds the list of the next task.
    pub fn push(&mut self, ids: impl Iterator<Item = Id>) {
        self.ids.extend(ids);
        self.ends.push(self.ids.len() as u32);
    }

    /// Adds the lists of the tasks that come next.
    pub fn append(&mut self, part: Lists<Id>) {
        let before = self.ids.len() as u32;
        self.ids.extend(part.ids);
        self.ends.extend(part.ends.into_iter().map(|end| before + end));
    }

    /// The list of a task.
    pub fn of(&self, task: TaskId) -> &[Id] {
        let task = task.index();
        let start = task.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.ids[start as usize..self.ends[task] as usize]
    }

    /// All ids, one task after the other.
    pub fn all(&self) -> &[Id] {
        &self.ids
    }
}

/// The counters of each task, or the events of each task of a task graph.
#[derive(Debug, Default)]
pub struct Edges {
    out: Vec<CounterId>,
    waits: Lists<CounterId>,
}

impl Edges {
    /// With room for so many tasks.
    pub fn with_capacity(tasks: usize) -> Edges {
        Edges { out: Vec::with_capacity(tasks), waits: Lists::with_capacity(tasks) }
    }

    /// Adds a task: the counter that it increments, and those that it waits on.
    pub fn push(&mut self, out: CounterId, waits: impl IntoIterator<Item = CounterId>) {
        self.out.push(out);
        self.waits.push(waits.into_iter());
    }

    /// Adds the tasks that come next.
    pub fn append(&mut self, part: Edges) {
        self.out.extend(part.out);
        self.waits.append(part.waits);
    }

    /// Task to the counter that it increments.
    pub fn out(&self) -> &[CounterId] {
        &self.out
    }

    /// The counters that a task waits on, as listed.
    pub fn waits(&self, task: TaskId) -> &[CounterId] {
        self.waits.of(task)
    }
}
