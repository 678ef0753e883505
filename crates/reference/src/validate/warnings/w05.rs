//! W05 unused-counter: some task increments every counter, or waits on it.

use megakernel_ir::Rule;
use megakernel_ir::model::Program;

use crate::validate::findings::Findings;
use crate::validate::graph::Graph;

pub(super) fn check(program: &Program<'_>, graph: &Graph, findings: &mut Findings) {
    let mut used: Vec<bool> = graph.producers.iter().map(|&producers| producers > 0).collect();
    for wait in program.tasks.iter().flat_map(|task| &task.waits) {
        used[wait.counter as usize] = true;
    }
    for (index, _) in used.iter().enumerate().filter(|(_, used)| !**used) {
        findings.broken(
            Rule::W05,
            format!("/counters/{index}"),
            "no task increments the counter or waits on it",
        );
    }
}
