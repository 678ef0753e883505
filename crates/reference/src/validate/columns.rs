//! The ids that tasks use, as dense arrays.
//!
//! A record of a task has some 300 bytes, and a walk over a million of them is a walk over memory. So what the later
//! stages want of all tasks is copied out on the one walk that class S makes.

use megakernel_ir::model::Task;
use megakernel_ir::{BufferId, CounterId, TaskId};
use megakernel_order::{Edges, Lists};

/// Ids by task. Where an S rule is broken they may be wrong; then nobody looks at them.
#[derive(Debug, Default)]
pub struct Columns {
    /// The counters.
    pub edges: Edges,
    /// Whether some task has an SM.
    pub placed: bool,
    operands: Lists<BufferId>,
    /// How many operands of each task are inputs.
    inputs: Vec<u8>,
}

impl Columns {
    /// With room for so many tasks.
    pub fn with_capacity(tasks: usize) -> Columns {
        Columns {
            edges: Edges::with_capacity(tasks),
            placed: false,
            operands: Lists::with_capacity(tasks),
            inputs: Vec::with_capacity(tasks),
        }
    }

    /// Adds a task.
    pub fn push(&mut self, task: &Task<'_>) {
        let waits = task.waits.iter().map(|wait| CounterId::stated(wait.counter));
        self.edges.push(CounterId::stated(task.out_counter), waits);
        self.placed |= task.sm.is_some();
        self.operands.push(task.inputs.iter().chain(&task.outputs).map(|&id| BufferId::stated(id)));
        self.inputs.push(task.inputs.len() as u8);
    }

    /// Adds the tasks that come next.
    pub fn append(&mut self, part: Columns) {
        self.edges.append(part.edges);
        self.placed |= part.placed;
        self.operands.append(part.operands);
        self.inputs.extend(part.inputs);
    }

    /// The buffers that a task lists, inputs before outputs, and how many of them are inputs.
    pub fn operands(&self, task: TaskId) -> (&[BufferId], usize) {
        (self.operands.of(task), usize::from(self.inputs[task.index()]))
    }

    /// The buffers that tasks list, one task after the other.
    pub fn all_operands(&self) -> &[BufferId] {
        self.operands.all()
    }
}
