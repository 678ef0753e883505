//! R03 read-write-race: a read that waits for one of its writers and not for another that overlaps it.

use megakernel_ir::Rule;
use megakernel_order::Findings;

use crate::validate::describe::{Names, region};
use crate::validate::race::exact::{Exact, Pair};
use crate::validate::race::unordered;

/// Of the pairs, sorted by reads, those that no write precedes are this rule's.
pub(super) fn check(exact: &Exact<'_>, pairs: &[Pair], names: &Names<'_>, findings: &mut Findings) {
    let mut reported = None;
    for &Pair { read, write, is_overwrite } in pairs {
        if is_overwrite || reported == Some(read) {
            continue;
        }
        reported = Some(read);
        findings.report(Rule::R03, || {
            let (reader, writer) = (exact.accesses[read], exact.accesses[write]);
            let message = format!(
                "{} reads {} of {} without waiting for {}, which writes it",
                names.task(reader.task),
                region(&exact.shared(read, write)),
                names.buffer(exact.buffer),
                names.task(writer.task),
            );
            unordered(Rule::R03, exact, [write, read], reader.pointer(), message)
        });
    }
}
