//! Class M: every access stays within its buffer, has a type that the opcode takes, and reads what was written.
//!
//! The rules M01 to M04 and M08 are judged by the opcodes, whose operands they are about: see `crate::opcodes`.

pub mod m05;
mod m06;
mod m07;

use megakernel_ir::Diagnostic;
use megakernel_ir::model::Program;

use crate::opcodes::{self, Operands, Place, Problems};
use crate::validate::accesses::Accesses;
use crate::validate::findings::Findings;

/// Judges M01 to M04 and M06 to M08. M05 is judged with the races, which know who comes first.
pub fn check(program: &Program<'_>, accesses: &Accesses<'_>, findings: &mut Findings) {
    let mut problems = Problems::new();
    for (index, task) in program.tasks.iter().enumerate() {
        let op = opcodes::op(task.op);
        let operands = Operands::new(program, task);
        op.dtypes(&operands, &mut problems);
        if problems.is_empty() {
            op.shapes(&operands, &mut problems);
        }
        if problems.is_empty() {
            op.bounds(&operands, &mut problems);
        }
        for problem in problems.drain(..) {
            let pointer = match problem.place {
                Place::Input(position) => format!("/tasks/{index}/inputs/{position}"),
                Place::Output(position) => format!("/tasks/{index}/outputs/{position}"),
                Place::Param(param) => format!("/tasks/{index}/params/{}", param.name()),
            };
            findings.report(problem.rule, || {
                Diagnostic::new(problem.rule, pointer, problem.message).tasks([index as u32])
            });
        }
        m07::check(index, task, findings);
    }
    m06::check(program, accesses, findings);
}
