//! S08 ids-not-dense: the id of every buffer, counter, task and page is its index.

use megakernel_ir::Rule;
use megakernel_ir::model::Program;

use crate::validate::findings::Findings;

pub(super) fn check(program: &Program<'_>, findings: &mut Findings) {
    dense("buffers", program.buffers.iter().map(|buffer| buffer.id), findings);
    dense("counters", program.counters.iter().map(|counter| counter.id), findings);
    dense("tasks", program.tasks.iter().map(|task| task.id), findings);
    let pages = program.pages.iter().flat_map(|allocation| &allocation.pages);
    dense("pages/pages", pages.map(|page| page.id), findings);
}

fn dense(list: &str, ids: impl Iterator<Item = i64>, findings: &mut Findings) {
    for (index, id) in ids.enumerate() {
        if i64::try_from(index) != Ok(id) {
            let message = format!("id {id} at index {index}; ids are 0, 1, 2, ... in list order");
            findings.broken(Rule::S08, format!("/{list}/{index}/id"), message);
        }
    }
}
