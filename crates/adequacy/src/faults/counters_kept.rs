//! `counters-kept`: does not reset the counters between launches.

use super::Fault;
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "counters-kept",
    summary: "does not reset the counters between launches",
    opcodes: &[],
    outputs: &[],
    why: "it is about the order of tasks, whatever they write",
    kernels: &CountersKept,
};

struct CountersKept;

impl Kernels for CountersKept {
    fn resets_counters(&self) -> bool {
        false
    }
    fn pick(&self, n: usize, _: u64) -> usize {
        n.saturating_sub(1)
    }
}
