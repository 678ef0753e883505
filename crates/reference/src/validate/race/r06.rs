//! R06 kv-order: a read of cache rows that this launch writes comes after the write.

use megakernel_ir::diagnostic::Witness;
use megakernel_ir::{Diagnostic, Rule, TaskId};
use megakernel_order::Findings;

use crate::validate::describe::{Names, region};
use crate::validate::race::exact::Exact;

pub(super) fn check(
    exact: &Exact<'_>,
    rank: &dyn Fn(TaskId) -> u32,
    names: &Names<'_>,
    findings: &mut Findings,
) {
    let mut stale = exact.stale(rank).into_iter().peekable();
    for read in exact.reads() {
        let old = stale.next_if(|&(other, _)| other == read);
        let access = exact.accesses[read];
        let reader = || names.task(access.task);
        if let Some(write) = exact.racing(read) {
            findings.report(Rule::R06, || {
                let message = format!(
                    "{} reads {} of {} without waiting for {}, which writes it",
                    reader(),
                    region(&exact.shared(read, write)),
                    names.buffer(exact.buffer),
                    names.task(exact.accesses[write].task),
                );
                super::unordered(Rule::R06, exact, [write, read], access.pointer(), message)
            });
        } else if let Some((_, old)) = old {
            findings.report(Rule::R06, || match old {
                // The read is ordered, but before the write: nothing of this launch has written what it reads.
                Some((write, old)) => {
                    let writer = exact.accesses[write].task;
                    let message = format!(
                        "{} reads {} of {} before {} writes it: what it reads is of an earlier launch",
                        reader(),
                        region(&exact.shared(read, write)),
                        names.buffer(exact.buffer),
                        names.task(writer),
                    );
                    Diagnostic::new(Rule::R06, access.pointer(), message)
                        .tasks([writer, access.task])
                        .buffers([exact.buffer])
                        .witness(Witness::Unwritten {
                            task: access.task,
                            buffer: exact.buffer,
                            region: old.to_witness(),
                        })
                }
                None => {
                    let buffer = names.buffer(exact.buffer);
                    let message = format!("{} reads {buffer} before another task writes it", reader());
                    Diagnostic::new(Rule::R06, access.pointer(), message)
                        .tasks([access.task])
                        .buffers([exact.buffer])
                }
            });
        }
    }
}
