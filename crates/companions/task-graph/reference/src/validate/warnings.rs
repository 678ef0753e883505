//! Class TW: TW01 unknown-task-type, TW02 unused-event, TW03 mixed-layout, TW04 incomplete-system.

use megakernel_ir::Rule;
use megakernel_order::Findings;
use megakernel_task_graph::{EventType, TaskType};

use crate::validate::storage::Use;
use crate::validate::world::World;

/// TW01, TW02 and TW04.
pub fn check(world: &World<'_, '_, '_>, findings: &mut Findings) {
    for rank in world.ranks {
        for (index, task) in rank.graph.all_tasks.iter().enumerate() {
            if TaskType::of(task.task_type).is_none() {
                findings.broken(
                    Rule::TW01,
                    rank.at(&format!("/all_tasks/{index}/task_type")),
                    format!(
                        "task type `{}` is not in the table of types: it is taken to read its inputs and to write its outputs, and nothing else; judge with a newer table if there is one",
                        task.task_type
                    ),
                );
            }
        }
    }
    for event in world.event_ids() {
        let is_unused = world.producers.of(event).is_empty() && world.dependents.of(event).is_empty();
        let is_empty = world.event(event).event_type == EventType::Empty as i64;
        if is_empty && is_unused {
            findings.broken(
                Rule::TW02,
                world.at_event(event, ""),
                format!("no task triggers {} and none depends on it", world.event_name(event)),
            );
        }
    }
    let is_in_system = world.ranks.iter().any(|rank| rank.is_in_system());
    if world.is_partial && !is_in_system {
        let message = "tasks write to other ranks, or meet theirs, and those graphs are not in the document: order that they may bring is taken for granted, and what they may break is not judged; judge all ranks together";
        findings.broken(Rule::TW04, "", message);
    }
}

/// TW03.
pub fn mixed_layout(world: &World<'_, '_, '_>, first: Use, name: &str, findings: &mut Findings) {
    findings.broken(
        Rule::TW03,
        first.pointer(world),
        format!(
            "with this tile, the tiles of `{name}` are no boxes along common strides; from here on they are compared by their first and last bytes"
        ),
    );
}
