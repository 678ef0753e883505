//! S09 dangling-reference: every id that is used is the id of something.

use megakernel_ir::Rule;
use megakernel_ir::model::{Program, SmAssignment, Task};
use megakernel_order::Findings;

pub(super) fn task(program: &Program<'_>, index: usize, task: &Task<'_>, findings: &mut Findings) {
    let (buffers, counters) = (program.buffers.len(), program.counters.len());
    for (position, &id) in task.inputs.iter().enumerate() {
        reference("buffer", id, buffers, || format!("/tasks/{index}/inputs/{position}"), findings);
    }
    for (position, &id) in task.outputs.iter().enumerate() {
        reference("buffer", id, buffers, || format!("/tasks/{index}/outputs/{position}"), findings);
    }
    reference("counter", task.out_counter, counters, || format!("/tasks/{index}/out_counter"), findings);
    for (position, wait) in task.waits.iter().enumerate() {
        reference(
            "counter",
            wait.counter,
            counters,
            || format!("/tasks/{index}/waits/{position}/counter"),
            findings,
        );
    }
}

/// The tasks that an explicit assignment names.
pub(super) fn assignment(program: &Program<'_>, findings: &mut Findings) {
    let Some(config) = &program.config else { return };
    let SmAssignment::Explicit(assignment) = &config.sm_assignment else { return };
    for &(task, _) in &assignment.0 {
        reference("task", task, program.tasks.len(), || format!("/config/sm_assignment/{task}"), findings);
    }
}

fn reference(what: &str, id: i64, count: usize, pointer: impl Fn() -> String, findings: &mut Findings) {
    if usize::try_from(id).is_ok_and(|id| id < count) {
        return;
    }
    let known = match count {
        0 => format!("the program has no {what}s"),
        count => format!("{what} ids are 0 to {}", count - 1),
    };
    findings.broken(Rule::S09, pointer(), format!("there is no {what} {id}; {known}"));
}
