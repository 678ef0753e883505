//! R05 overwrite-race: a task overwrites elements whose earlier value another task may still be reading.

use megakernel_ir::Rule;
use megakernel_ir::diagnostic::AccessKind;
use megakernel_order::Findings;

use crate::validate::describe::{Names, region};
use crate::validate::race::exact::{Exact, Relation};
use crate::validate::race::unordered;

/// Whether the reader's value comes from a write that also happens before the unordered one.
pub(super) fn is_overwritten(exact: &Exact<'_>, read: usize, write: usize) -> bool {
    let shared = exact.shared(read, write);
    let produces: Vec<usize> = exact
        .writes_that(read, Relation::Before)
        .filter(|&earlier| exact.accesses[earlier].region.overlaps(&shared))
        .collect();
    !produces.is_empty()
        && exact.writes_that(write, Relation::Before).any(|earlier| produces.contains(&earlier))
}

pub(super) fn check(exact: &Exact<'_>, names: &Names<'_>, findings: &mut Findings) {
    for write in exact.writes() {
        let conflicts = exact.conflicts(write);
        let unordered_reads = conflicts.iter().filter(|conflict| {
            conflict.relation == Relation::Unordered
                && exact.accesses[conflict.other].kind == AccessKind::Read
        });
        let racing =
            unordered_reads.map(|conflict| conflict.other).find(|&read| is_overwritten(exact, read, write));
        if let Some(read) = racing {
            findings.report(Rule::R05, || {
                let writer = exact.accesses[write];
                let message = format!(
                    "{} overwrites {} of {} without waiting for {}, which reads the value before it",
                    names.task(writer.task),
                    region(&exact.shared(read, write)),
                    names.buffer(exact.buffer),
                    names.task(exact.accesses[read].task),
                );
                unordered(Rule::R05, exact, [read, write], writer.pointer(), message)
            });
        }
    }
}
