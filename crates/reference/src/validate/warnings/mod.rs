//! Class W: suspicious, never a reason to reject.

mod w01;
mod w02;
mod w03;
mod w04;
mod w05;
mod w06;

use megakernel_ir::TaskId;
use megakernel_ir::model::{Program, Task};
use megakernel_order::{Findings, Graph};

use crate::validate::accesses::Accesses;

/// W01 and W06, of one task.
pub fn check_task(id: TaskId, task: &Task<'_>, findings: &mut Findings) {
    w01::check(id, task, findings);
    w06::task(id, task, findings);
}

/// W02 to W06, of everything but the tasks.
pub fn check(program: &Program<'_>, graph: &Graph, accesses: &Accesses<'_>, findings: &mut Findings) {
    w02::check(program, findings);
    w03::check(program, accesses, findings);
    w04::check(program, accesses, findings);
    w05::check(program, graph, findings);
    w06::check(program, findings);
}
