//! How messages name the parts of a program.

use std::fmt::Write;

use megakernel_ir::model::Program;
use megakernel_ir::{BufferId, TaskId};

use crate::region::Region;

/// Names for people, with the ids that the JSON uses.
pub struct Names<'p> {
    program: &'p Program<'p>,
}

impl<'p> Names<'p> {
    /// The names of a program whose references hold.
    pub fn new(program: &'p Program<'p>) -> Names<'p> {
        Names { program }
    }

    /// Such as ``task 5 (GEMV_TILE `L0.q_proj[t0]`)``.
    pub fn task(&self, task: TaskId) -> String {
        match self.program.tasks.get(task.index()) {
            Some(record) if record.label.is_empty() => format!("task {task} ({})", record.op),
            Some(record) => format!("task {task} ({} `{}`)", record.op, record.label),
            None => format!("task {task}"),
        }
    }

    /// Such as ``buffer 3 `h0` ``.
    pub fn buffer(&self, buffer: BufferId) -> String {
        match self.program.buffers.get(buffer.index()) {
            Some(record) => format!("buffer {buffer} `{}`", record.name),
            None => format!("buffer {buffer}"),
        }
    }
}

/// A region as people write slices, such as `[0:4, 16:32]`.
pub fn region(region: &Region) -> String {
    let mut text = String::from("[");
    for (axis, [low, high]) in region.to_witness().into_iter().enumerate() {
        let separator = if axis == 0 { "" } else { ", " };
        let _ = write!(text, "{separator}{low}:{high}");
    }
    text + "]"
}
