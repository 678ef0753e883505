//! EMBED (clause OPC-02): rows of a table as they are. A row of an id out of range is not specified.

use super::view::extent;
use super::{Kernel, TaskView, Written};
use crate::vm::bounded::Bounded;

pub(super) struct Embed;

impl Kernel for Embed {
    fn run(&self, task: &TaskView<'_>) -> Written {
        let table = task.reals(1);
        let entries = task.shape(1).first().map_or(0, |&entries| extent(entries));
        let width = table.len().checked_div(entries).unwrap_or(0);
        let mut rows = Vec::with_capacity(task.ints(0).len().saturating_mul(width));
        for &id in task.ints(0) {
            match usize::try_from(id) {
                Ok(id) if id < entries => rows.extend(table.row(id, width).iter()),
                _ => rows.extend(std::iter::repeat_n(Bounded::UNSPECIFIED, width)),
            }
        }
        Written::Reals(rows)
    }
}
