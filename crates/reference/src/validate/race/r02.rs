//! R02 unproduced-read: a read of an ACTIVATION or IO_OUTPUT that no overlapping write happens before.

use megakernel_ir::diagnostic::Witness;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::Findings;

use crate::validate::describe::Names;
use crate::validate::race::exact::Exact;
use crate::validate::race::unordered;

pub(super) fn check(exact: &Exact<'_>, names: &Names<'_>, findings: &mut Findings) {
    for read in exact.reads().filter(|&read| !exact.is_produced(read)) {
        findings.report(Rule::R02, || {
            let access = &exact.accesses[read];
            let (reader, buffer) = (names.task(access.task), names.buffer(exact.buffer));
            match exact.racing(read) {
                Some(write) => {
                    let writer = names.task(exact.accesses[write].task);
                    let message =
                        format!("{reader} reads {buffer} without waiting for {writer}, which writes it");
                    unordered(Rule::R02, exact, [write, read], access.pointer(), message)
                }
                None => {
                    let message = format!("{reader} reads {buffer}, which no task before it writes");
                    Diagnostic::new(Rule::R02, access.pointer(), message)
                        .tasks([access.task])
                        .buffers([exact.buffer])
                        .witness(Witness::Unwritten {
                            task: access.task,
                            buffer: exact.buffer,
                            region: access.region.to_witness(),
                        })
                }
            }
        });
    }
}
