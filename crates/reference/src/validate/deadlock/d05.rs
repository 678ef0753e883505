//! D05 queue-order: in the queue of an SM, no task stands behind a task that waits for it.

use std::collections::{BTreeSet, HashMap};

use megakernel_ir::diagnostic::{Before, CycleStep, Witness};
use megakernel_ir::model::Program;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::{Findings, Graph};

use crate::validate::describe::Names;

/// Judges the rule. Gives back the broken edges as pairs of a counter and the task that waits on it.
pub(super) fn check(program: &Program<'_>, graph: &Graph, findings: &mut Findings) -> BTreeSet<(u32, u32)> {
    let mut broken = BTreeSet::new();
    // The last producer of each counter in each queue.
    let mut last: HashMap<(u32, i64), u32> = HashMap::new();
    for (index, task) in program.tasks.iter().enumerate() {
        if let Some(sm) = task.sm {
            last.insert((graph.out[index], sm), index as u32);
        }
    }
    let names = Names::new(program);
    for (index, task) in program.tasks.iter().enumerate() {
        let (index, Some(sm)) = (index as u32, task.sm) else { continue };
        for &counter in graph.waits(index) {
            let Some(&producer) = last.get(&(counter, sm)).filter(|&&producer| producer > index) else {
                continue;
            };
            broken.insert((counter, index));
            findings.report(Rule::D05, || {
                let message = format!(
                    "{} waits for {}, which stands behind it in the queue of SM {sm}; list the producer first",
                    names.task(index),
                    names.task(producer),
                );
                let steps = vec![
                    CycleStep { task: index, then: Before::Queue(sm) },
                    CycleStep { task: producer, then: Before::Counter(counter) },
                ];
                Diagnostic::new(Rule::D05, format!("/tasks/{index}"), message)
                    .tasks([index, producer])
                    .counters([counter])
                    .witness(Witness::Cycle { steps })
            });
        }
    }
    broken
}
