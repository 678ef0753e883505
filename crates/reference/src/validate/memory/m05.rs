//! M05 unwritten-read: every element of a read is written before it, where some of them are.

use megakernel_ir::diagnostic::Witness;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_order::Findings;

use crate::region::Region;
use crate::validate::describe::{Names, region};
use crate::validate::race::{Exact, Relation, is_produced};

pub fn check(exact: &Exact<'_>, names: &Names<'_>, findings: &mut Findings) {
    // A read that nothing is ordered before is R02's.
    for read in exact.reads().filter(|&read| is_produced(exact, read)) {
        let access = exact.accesses[read];
        // An unordered write counts: whether it comes first is R03's and R05's business.
        let mut unwritten: Vec<Region> = vec![access.region];
        let ordered = exact.writes_that(read, Relation::Before);
        for write in ordered.chain(exact.writes_that(read, Relation::Unordered)) {
            unwritten = unwritten.iter().flat_map(|rest| rest.minus(&exact.accesses[write].region)).collect();
        }
        if let Some(missing) = unwritten.first() {
            findings.report(Rule::M05, || {
                let message = format!(
                    "{} reads {} of {}, and no task before it writes {}",
                    names.task(access.task),
                    region(&access.region),
                    names.buffer(exact.buffer),
                    region(missing),
                );
                let witness = Witness::Unwritten {
                    task: access.task,
                    buffer: exact.buffer,
                    region: missing.to_witness(),
                };
                Diagnostic::new(Rule::M05, access.pointer(), message)
                    .tasks([access.task])
                    .buffers([exact.buffer])
                    .witness(witness)
            });
        }
    }
}
