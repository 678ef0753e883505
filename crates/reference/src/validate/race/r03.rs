//! R03 read-write-race: a read that waits for one of its writers and not for another that overlaps it.

use megakernel_ir::Rule;
use megakernel_order::Findings;

use crate::validate::describe::{Names, region};
use crate::validate::race::exact::{Exact, Relation};
use crate::validate::race::{r02, r05, unordered};

pub(super) fn check(exact: &Exact<'_>, names: &Names<'_>, findings: &mut Findings) {
    for read in exact.reads().filter(|&read| r02::is_produced(exact, read)) {
        let racing = exact
            .writes_that(read, Relation::Unordered)
            .find(|&write| !r05::is_overwritten(exact, read, write));
        if let Some(write) = racing {
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
}
