//! R05 overwrite-race: a task overwrites elements whose earlier value another task may still be reading.

use megakernel_ir::Rule;
use megakernel_order::Findings;

use crate::validate::describe::{Names, region};
use crate::validate::race::exact::{Exact, Pair};
use crate::validate::race::unordered;

/// Of the pairs, those that another write precedes are this rule's.
pub(super) fn check(exact: &Exact<'_>, pairs: &[Pair], names: &Names<'_>, findings: &mut Findings) {
    let mut overwrites: Vec<&Pair> = pairs.iter().filter(|pair| pair.is_overwrite).collect();
    overwrites.sort_by_key(|pair| (pair.write, pair.read));
    overwrites.dedup_by_key(|pair| pair.write);
    for &&Pair { read, write, .. } in &overwrites {
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
