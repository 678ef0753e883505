//! Class M: every access stays within its buffer, has a type that the opcode takes, and reads what was written.
//!
//! The rules M01 to M04 and M08 are judged by the opcodes, whose operands they are about: see `crate::opcodes`.

pub mod m05;
mod m06;
mod m07;

use megakernel_ir::model::{Program, Task};
use megakernel_ir::{Diagnostic, TaskId};
use megakernel_order::Findings;

use crate::opcodes::{self, Operands, Place, Problems};
use crate::validate::accesses::Accesses;

/// M01 to M04, M07 and M08, of one task. Gives back whether the opcode takes operands of these shapes; where it does
/// not, it has no footprint (clause EXE-04).
pub fn check_task(
    program: &Program<'_>,
    id: TaskId,
    task: &Task<'_>,
    judged: bool,
    findings: &mut Findings,
) -> bool {
    let op = opcodes::op(task.op);
    let operands = Operands::new(program, task);
    let mut problems = Problems::new();
    op.shapes(&operands, &mut problems);
    let is_well_shaped = problems.is_empty();
    if !judged {
        return is_well_shaped;
    }
    // The shapes of a wrong dtype are nobody's question; the places of a wrong shape or storage neither.
    let mut wrong_dtypes = Problems::new();
    op.dtypes(&operands, &mut wrong_dtypes);
    if !wrong_dtypes.is_empty() {
        problems = wrong_dtypes;
    } else {
        let mut storage = Problems::new();
        op.storage(&operands, &mut storage);
        storage.append(&mut problems);
        problems = storage;
        if problems.is_empty() {
            op.bounds(&operands, &mut problems);
        }
    }
    for problem in problems {
        let pointer = match problem.place {
            Place::Input(position) => format!("/tasks/{id}/inputs/{position}"),
            Place::Output(position) => format!("/tasks/{id}/outputs/{position}"),
            Place::Param(param) => format!("/tasks/{id}/params/{}", param.name()),
        };
        findings.report(problem.rule, || Diagnostic::new(problem.rule, pointer, problem.message).tasks([id]));
    }
    m07::check(id, task, findings);
    is_well_shaped
}

/// M06. M05 is judged with the races, which know who comes first.
pub fn check_outputs(program: &Program<'_>, accesses: &Accesses<'_>, findings: &mut Findings) {
    m06::check(program, accesses, findings);
}
