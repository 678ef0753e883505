//! W05 unused-counter: some task increments every counter, or waits on it.

use std::collections::HashSet;

use megakernel_ir::Rule;
use megakernel_ir::model::Program;
use megakernel_order::{Findings, Graph};

pub(super) fn check(program: &Program<'_>, graph: &Graph, findings: &mut Findings) {
    let idle: Vec<usize> = (0..graph.counters()).filter(|&counter| graph.producers[counter] == 0).collect();
    if idle.is_empty() {
        return;
    }
    let waited_on: HashSet<i64> =
        program.tasks.iter().flat_map(|task| &task.waits).map(|wait| wait.counter).collect();
    for index in idle.into_iter().filter(|&counter| !waited_on.contains(&(counter as i64))) {
        findings.broken(
            Rule::W05,
            format!("/counters/{index}"),
            "no task increments the counter or waits on it",
        );
    }
}
