//! R06 kv-order: a read of cache rows that this launch writes comes after the write.

use megakernel_ir::diagnostic::Witness;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::Findings;

use crate::region::Region;
use crate::validate::describe::{Names, region};
use crate::validate::race::exact::{Exact, Relation};

pub(super) fn check(exact: &Exact<'_>, names: &Names<'_>, findings: &mut Findings) {
    for read in exact.reads() {
        let access = exact.accesses[read];
        let unordered = exact.writes_that(read, Relation::Unordered).next();
        let racing = unordered.or_else(|| {
            exact.writes_that(read, Relation::After).find(|&write| !old(exact, read, write).is_empty())
        });
        let Some(write) = racing else { continue };
        findings.report(Rule::R06, || {
            let (reader, writer) = (names.task(access.task), names.task(exact.accesses[write].task));
            let rows = format!("{} of {}", region(&exact.shared(read, write)), names.buffer(exact.buffer));
            if unordered.is_some() {
                let message = format!("{reader} reads {rows} without waiting for {writer}, which writes it");
                return super::unordered(Rule::R06, exact, [write, read], access.pointer(), message);
            }
            let message = format!(
                "{reader} reads {rows} before {writer} writes it: what it reads is of an earlier launch"
            );
            stale(exact, read, write, message)
        });
    }
}

/// What the read takes from an earlier launch of the elements that `write`, which comes after it, writes.
fn old(exact: &Exact<'_>, read: usize, write: usize) -> Vec<Region> {
    let mut old = vec![exact.shared(read, write)];
    for earlier in exact.writes_that(read, Relation::Before) {
        old = old.iter().flat_map(|rest| rest.minus(&exact.accesses[earlier].region)).collect();
    }
    old
}

/// The read is ordered, but before the write: nothing of this launch has written what it reads.
fn stale(exact: &Exact<'_>, read: usize, write: usize, message: String) -> Diagnostic {
    let (reader, writer) = (exact.accesses[read], exact.accesses[write].task);
    let diagnostic = Diagnostic::new(Rule::R06, reader.pointer(), message)
        .tasks([writer, reader.task])
        .buffers([exact.buffer]);
    match old(exact, read, write).first() {
        Some(region) => diagnostic.witness(Witness::Unwritten {
            task: reader.task,
            buffer: exact.buffer,
            region: region.to_witness(),
        }),
        None => diagnostic,
    }
}
