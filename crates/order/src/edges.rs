//! Which counter each task increments and which it waits on, as it is read.

/// A list of ids for each task, end to end.
#[derive(Debug, Default)]
pub struct Lists {
    ends: Vec<u32>,
    ids: Vec<u32>,
}

impl Lists {
    /// With room for so many tasks of a few ids each.
    pub fn with_capacity(tasks: usize) -> Lists {
        Lists { ends: Vec::with_capacity(tasks), ids: Vec::with_capacity(3 * tasks) }
    }

    /// Adds the list of the next task.
    pub fn push(&mut self, ids: impl Iterator<Item = u32>) {
        self.ids.extend(ids);
        self.ends.push(self.ids.len() as u32);
    }

    /// Adds the lists of the tasks that come next.
    pub fn append(&mut self, part: Lists) {
        let before = self.ids.len() as u32;
        self.ids.extend(part.ids);
        self.ends.extend(part.ends.into_iter().map(|end| before + end));
    }

    /// The list of a task.
    pub fn of(&self, task: usize) -> &[u32] {
        let start = task.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.ids[start as usize..self.ends[task] as usize]
    }

    /// All ids, one task after the other.
    pub fn all(&self) -> &[u32] {
        &self.ids
    }
}

/// The counters of each task, or the events of each task of a task graph.
#[derive(Debug, Default)]
pub struct Edges {
    out: Vec<u32>,
    waits: Lists,
}

impl Edges {
    /// With room for so many tasks.
    pub fn with_capacity(tasks: usize) -> Edges {
        Edges { out: Vec::with_capacity(tasks), waits: Lists::with_capacity(tasks) }
    }

    /// Adds a task: the counter that it increments, and those that it waits on.
    pub fn push(&mut self, out: u32, waits: impl IntoIterator<Item = u32>) {
        self.out.push(out);
        self.waits.push(waits.into_iter());
    }

    /// Adds the tasks that come next.
    pub fn append(&mut self, part: Edges) {
        self.out.extend(part.out);
        self.waits.append(part.waits);
    }

    /// Task to the counter that it increments.
    pub fn out(&self) -> &[u32] {
        &self.out
    }

    /// The counters that a task waits on, as listed.
    pub fn waits(&self, task: usize) -> &[u32] {
        self.waits.of(task)
    }
}
