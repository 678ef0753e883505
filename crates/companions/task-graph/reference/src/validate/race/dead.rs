//! TR05 dead-write.

use megakernel_ir::Rule;
use megakernel_ir::diagnostic::AccessKind;
use megakernel_order::Findings;
use megakernel_task_graph::Effect;

use crate::validate::race::exact::storage_name;
use crate::validate::race::walk::Dead;
use crate::validate::race::{self, Accessed};
use crate::validate::storage::Use;
use crate::validate::world::World;

pub(super) fn check(
    world: &World<'_, '_, '_>,
    of: &Accessed<'_, '_>,
    found: &[Dead],
    findings: &mut Findings,
) {
    let key = |one: Use| (one.task, one.is_output, one.position);
    // A start value that is left for whoever comes next need not be wanted.
    let mut found = found.to_vec();
    found.retain(|dead| dead.write.effect(world) != Effect::Reset);
    found.sort_by_key(|dead| (key(dead.write), key(dead.next)));
    found.dedup_by_key(|dead| key(dead.write));
    for Dead { write, next } in found {
        findings.report(Rule::TR05, || {
            let message = format!(
                "{} writes elements of {} that no task reads before {} overwrites them; a reader is missing, or the write is",
                world.task_name(write.task),
                storage_name(world, of),
                world.task_name(next.task)
            );
            let access = |of_use: Use| {
                of.accesses.iter().find(|access| access.of == of_use && access.kind == AccessKind::Write)
            };
            match (access(write), access(next)) {
                (Some(first), Some(second)) => {
                    race::overlap(Rule::TR05, world, of, [first, second], false, (write.pointer(world), message))
                }
                _ => megakernel_ir::Diagnostic::new(Rule::TR05, write.pointer(world), message),
            }
        });
    }
}
