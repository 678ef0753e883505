//! R06 kv-order: a read of cache rows that this launch writes comes after the write.

use megakernel_ir::diagnostic::{self, AccessKind, Witness};
use megakernel_ir::{Diagnostic, Rule};

use crate::validate::describe::{Names, region};
use crate::validate::findings::Findings;
use crate::validate::race::exact::{Exact, Relation};

pub(super) fn check(exact: &Exact<'_>, names: &Names<'_>, findings: &mut Findings) {
    for read in exact.reads() {
        let access = exact.accesses[read];
        let unordered = exact.writes_that(read, Relation::Unordered).next();
        let racing = unordered
            .or_else(|| exact.writes_that(read, Relation::After).find(|&write| is_stale(exact, read, write)));
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

/// Whether the read takes some element from an earlier launch that `write`, which comes after it, writes.
fn is_stale(exact: &Exact<'_>, read: usize, write: usize) -> bool {
    let mut old = vec![exact.shared(read, write)];
    for earlier in exact.writes_that(read, Relation::Before) {
        old = old.iter().flat_map(|rest| rest.minus(&exact.accesses[earlier].region)).collect();
    }
    !old.is_empty()
}

/// The read is ordered, but before the write: the schedule shows it.
fn stale(exact: &Exact<'_>, read: usize, write: usize, message: String) -> Diagnostic {
    let (reader, writer) = (exact.accesses[read], exact.accesses[write].task);
    debug_assert_eq!(reader.kind, AccessKind::Read);
    let events = vec![
        diagnostic::Event::Start(reader.task),
        diagnostic::Event::Finish(reader.task),
        diagnostic::Event::Start(writer),
        diagnostic::Event::Finish(writer),
    ];
    let then = format!("task {} has read what task {writer} writes only later", reader.task);
    Diagnostic::new(Rule::R06, reader.pointer(), message)
        .tasks([writer, reader.task])
        .buffers([exact.buffer])
        .witness(Witness::Schedule { events, then })
}
