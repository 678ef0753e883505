//! Class D: every execution finishes.

mod cycles;
mod d01;
mod d02;
mod d03;
mod d04;
mod d05;
mod d06;
mod d07;

use megakernel_ir::model::Program;

use crate::validate::findings::Findings;
use crate::validate::graph::Graph;

/// Judges D01 to D07.
pub fn check(program: &Program<'_>, graph: &Graph, findings: &mut Findings) {
    for (index, task) in program.tasks.iter().enumerate() {
        d01::check(index, task, graph, findings);
        d02::check(index, task, graph, findings);
        d03::check(index, task, findings);
        d07::check(index, task, program.target.as_ref(), findings);
    }
    let on_cycle = d04::check(program, graph, findings);
    let broken_by_queue = d05::check(program, graph, findings);
    d06::check(program, graph, &on_cycle, &broken_by_queue, findings);
}
