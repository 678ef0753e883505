//! TR07 no-start-value.

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::Findings;

use crate::validate::area::Area;
use crate::validate::race::walk::minus;
use crate::validate::race::{Accessed, storage_name};
use crate::validate::world::World;

/// Judges a storage to which tasks add.
pub(super) fn check(world: &World<'_, '_, '_>, of: &Accessed<'_, '_>, findings: &mut Findings) {
    let local = || of.accesses.iter().filter(|access| world.rank(access.of.task) == of.storage.rank);
    let mut starts: Vec<&Area> =
        local().filter(|access| access.kind == AccessKind::Write && !access.adds).map(|a| &a.area).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut last: Option<(&Area, bool)> = None;
    let mut adding: Vec<_> = local().filter(|access| access.adds).collect();
    adding.sort_by_key(|access| (access.of.task, access.of.is_output, access.of.position));
    for access in adding {
        // Tasks that add to one tile stand side by side.
        let is_set = match last {
            Some((area, is_set)) if *area == access.area => is_set,
            _ if starts.binary_search(&&access.area).is_ok() => true,
            _ => {
                let mut left = vec![access.area.clone()];
                for start in &starts {
                    left = left.iter().flat_map(|part| minus(part, start)).collect();
                    if left.is_empty() {
                        break;
                    }
                }
                left.is_empty()
            }
        };
        last = Some((&access.area, is_set));
        if !is_set {
            findings.report(Rule::TR07, || {
                let task = access.of.task;
                let message = format!(
                    "{} adds to elements of {} that no task sets: the sum goes on from one iteration to the next; set them before, or when the sum has been read",
                    world.task_name(task),
                    storage_name(world, of)
                );
                Diagnostic::new(Rule::TR07, access.of.pointer(world), message).tasks([task])
            });
        }
    }
}
