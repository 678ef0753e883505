//! The ids that tasks use, as dense arrays.
//!
//! A record of a task has some 300 bytes, and a walk over a million of them is a walk over memory. So what the later
//! stages want of all tasks is copied out on the one walk that class S makes.

use megakernel_ir::model::Task;

/// Ids by task. Where an S rule is broken they may be wrong; then nobody looks at them.
#[derive(Debug, Default)]
pub struct Columns {
    /// The counter that each task increments.
    pub out: Vec<u32>,
    /// Whether some task has an SM.
    pub placed: bool,
    waits: Lists,
    operands: Lists,
    /// How many operands of each task are inputs.
    inputs: Vec<u8>,
}

/// A list of ids for each task, end to end.
#[derive(Debug, Default)]
struct Lists {
    ends: Vec<u32>,
    ids: Vec<u32>,
}

impl Lists {
    fn push<'i>(&mut self, ids: impl Iterator<Item = &'i i64>) {
        self.ids.extend(ids.map(|&id| id as u32));
        self.ends.push(self.ids.len() as u32);
    }

    fn append(&mut self, part: Lists) {
        let before = self.ids.len() as u32;
        self.ids.extend(part.ids);
        self.ends.extend(part.ends.into_iter().map(|end| before + end));
    }

    fn of(&self, task: usize) -> &[u32] {
        let start = task.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.ids[start as usize..self.ends[task] as usize]
    }
}

impl Columns {
    /// With room for so many tasks.
    pub fn with_capacity(tasks: usize) -> Columns {
        let lists = || Lists { ends: Vec::with_capacity(tasks), ids: Vec::with_capacity(3 * tasks) };
        Columns {
            out: Vec::with_capacity(tasks),
            placed: false,
            waits: lists(),
            operands: lists(),
            inputs: Vec::with_capacity(tasks),
        }
    }

    /// Adds a task.
    pub fn push(&mut self, task: &Task<'_>) {
        self.out.push(task.out_counter as u32);
        self.placed |= task.sm.is_some();
        self.waits.push(task.waits.iter().map(|wait| &wait.counter));
        self.operands.push(task.inputs.iter().chain(&task.outputs));
        self.inputs.push(task.inputs.len() as u8);
    }

    /// Adds a task of a task graph: the event that it triggers and the event that it waits for.
    pub fn push_event_edge(&mut self, out: u32, wait: Option<u32>) {
        self.out.push(out);
        self.waits.ids.extend(wait);
        self.waits.ends.push(self.waits.ids.len() as u32);
    }

    /// Adds the tasks that come next.
    pub fn append(&mut self, part: Columns) {
        self.out.extend(part.out);
        self.placed |= part.placed;
        self.waits.append(part.waits);
        self.operands.append(part.operands);
        self.inputs.extend(part.inputs);
    }

    /// The counters that a task waits on.
    pub fn waits(&self, task: usize) -> &[u32] {
        self.waits.of(task)
    }

    /// The buffers that a task lists, inputs before outputs, and how many of them are inputs.
    pub fn operands(&self, task: usize) -> (&[u32], usize) {
        (self.operands.of(task), usize::from(self.inputs[task]))
    }

    /// The buffers that tasks list, one task after the other.
    pub fn all_operands(&self) -> &[u32] {
        &self.operands.ids
    }
}
