//! W06 unknown-member: a member that this version does not know, outside `meta`, `target` and `config`, where newer
//! tools add members by design.

use megakernel_ir::diagnostic::pointer_token;
use megakernel_ir::model::{Extra, Program, Task};
use megakernel_ir::{Rule, TaskId};
use megakernel_order::Findings;

/// Of one task.
pub(super) fn task(id: TaskId, task: &Task<'_>, findings: &mut Findings) {
    report(&task.extra, || format!("/tasks/{id}"), findings);
    for (position, wait) in task.waits.iter().enumerate() {
        report(&wait.extra, || format!("/tasks/{id}/waits/{position}"), findings);
    }
}

/// Of everything but the tasks.
pub(super) fn check(program: &Program<'_>, findings: &mut Findings) {
    report(&program.extra, String::new, findings);
    for (index, buffer) in program.buffers.iter().enumerate() {
        report(&buffer.extra, || format!("/buffers/{index}"), findings);
    }
    for (index, counter) in program.counters.iter().enumerate() {
        report(&counter.extra, || format!("/counters/{index}"), findings);
    }
    if let Some(allocation) = &program.pages {
        report(&allocation.extra, || "/pages".to_owned(), findings);
        for (index, page) in allocation.pages.iter().enumerate() {
            report(&page.extra, || format!("/pages/pages/{index}"), findings);
        }
    }
}

fn report(extra: &Extra<'_>, parent: impl Fn() -> String, findings: &mut Findings) {
    for (name, _) in extra {
        let token = pointer_token(name);
        let message = format!("the member `{name}` is not known and was ignored; check its spelling");
        findings.broken(Rule::W06, format!("{}/{token}", parent()), message);
    }
}
