//! Class D: every execution finishes.

mod d01;
mod d02;
mod d03;
mod d04;
mod d05;
mod d06;
mod d07;
mod parts;

use megakernel_ir::TaskId;
use megakernel_ir::model::{Program, Task};
use megakernel_order::{Findings, Graph};

pub use d07::never_starts;

/// D01, D02, D03 and D07, of one task.
pub fn check_task(
    program: &Program<'_>,
    graph: &Graph,
    id: TaskId,
    task: &Task<'_>,
    findings: &mut Findings,
) {
    d01::check(id, task, graph, findings);
    d02::check(id, task, graph, findings);
    d03::check(id, task, graph, findings);
    d07::check(id, task, program.target.as_ref(), findings);
}

/// D04, D05 and D06, which are about all tasks together; `placed` says that some task has an SM, `is_cyclic` that the
/// counters have no order.
pub fn check_cycles(
    program: &Program<'_>,
    graph: &Graph,
    placed: bool,
    is_cyclic: bool,
    findings: &mut Findings,
) {
    let on_cycle = d04::check(program, graph, is_cyclic, findings);
    if !placed {
        return;
    }
    let broken_by_queue = d05::check(program, graph, findings);
    d06::check(program, graph, &on_cycle, &broken_by_queue, findings);
}
