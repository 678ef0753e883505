//! W05 unused-counter: some task increments every counter, or waits on it.

use std::collections::HashSet;

use megakernel_ir::model::Program;
use megakernel_ir::{CounterId, Rule};
use megakernel_order::{Findings, Graph};

pub(super) fn check(program: &Program<'_>, graph: &Graph, findings: &mut Findings) {
    let counters = CounterId::range(0..graph.counters());
    let idle: Vec<CounterId> = counters.filter(|&counter| graph.producers(counter) == 0).collect();
    if idle.is_empty() {
        return;
    }
    let waits = program.tasks.iter().flat_map(|task| &task.waits);
    let waited_on: HashSet<CounterId> = waits.map(|wait| CounterId::stated(wait.counter)).collect();
    for id in idle.into_iter().filter(|counter| !waited_on.contains(counter)) {
        findings.broken(
            Rule::W05,
            format!("/counters/{id}"),
            "no task increments the counter or waits on it",
        );
    }
}
