//! Class W: suspicious, never a reason to reject.

mod w01;
mod w02;
mod w03;
mod w04;
mod w05;
mod w06;

use megakernel_ir::model::Program;

use crate::validate::accesses::Accesses;
use crate::validate::findings::Findings;
use crate::validate::graph::Graph;

/// Judges W01 to W06.
pub fn check(program: &Program<'_>, graph: &Graph, accesses: &Accesses<'_>, findings: &mut Findings) {
    w01::check(program, findings);
    w02::check(program, findings);
    w03::check(program, accesses, findings);
    w04::check(program, accesses, findings);
    w05::check(program, graph, findings);
    w06::check(program, findings);
}
