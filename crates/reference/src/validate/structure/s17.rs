//! S17 counter-init: every counter starts at zero.

use megakernel_ir::Rule;
use megakernel_ir::model::Counter;
use megakernel_order::Findings;

pub(super) fn check(index: usize, counter: &Counter<'_>, findings: &mut Findings) {
    if counter.init != 0 {
        let message = format!(
            "counter {index} starts at {}; a wait would pass before its producers ran, use 0",
            counter.init
        );
        findings.broken(Rule::S17, format!("/counters/{index}/init"), message);
    }
}
