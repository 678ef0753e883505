//! R04 write-write-race: two tasks write the same elements and neither waits for the other.

use megakernel_ir::Rule;
use megakernel_order::Findings;

use crate::validate::describe::{Names, region};
use crate::validate::race::exact::Exact;
use crate::validate::race::unordered;

pub(super) fn check(exact: &Exact<'_>, names: &Names<'_>, findings: &mut Findings) {
    for later in exact.writes() {
        if let Some(earlier) = exact.racing_earlier(later) {
            findings.report(Rule::R04, || {
                let message = format!(
                    "{} and {} write {} of {} in either order",
                    names.task(exact.accesses[earlier].task),
                    names.task(exact.accesses[later].task),
                    region(&exact.shared(earlier, later)),
                    names.buffer(exact.buffer),
                );
                unordered(Rule::R04, exact, [earlier, later], exact.accesses[later].pointer(), message)
            });
        }
    }
}
