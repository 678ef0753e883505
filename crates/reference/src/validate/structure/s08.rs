//! S08 ids-not-dense: the id of every buffer, counter, task and page is its index.

use megakernel_ir::Rule;
use megakernel_ir::model::{Program, Task};
use megakernel_order::Findings;

/// Of what stands before the tasks.
pub(super) fn before_tasks(program: &Program<'_>, findings: &mut Findings) {
    for (index, buffer) in program.buffers.iter().enumerate() {
        dense("buffers", index, buffer.id, findings);
    }
    for (index, counter) in program.counters.iter().enumerate() {
        dense("counters", index, counter.id, findings);
    }
}

/// Of one task.
pub(super) fn task(index: usize, task: &Task<'_>, findings: &mut Findings) {
    dense("tasks", index, task.id, findings);
}

/// Of the pages.
pub(super) fn pages(program: &Program<'_>, findings: &mut Findings) {
    for (index, page) in program.pages.iter().flat_map(|allocation| &allocation.pages).enumerate() {
        dense("pages/pages", index, page.id, findings);
    }
}

fn dense(list: &str, index: usize, id: i64, findings: &mut Findings) {
    if i64::try_from(index) != Ok(id) {
        let message = format!("id {id} at index {index}; ids are 0, 1, 2, ... in list order");
        findings.broken(Rule::S08, format!("/{list}/{index}/id"), message);
    }
}
