//! `waits-first-only`: looks at the first wait of a task only.

use super::Fault;
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "waits-first-only",
    summary: "looks at the first wait of a task only",
    opcodes: &[],
    outputs: &[],
    why: "it is about the order of tasks, whatever they write",
    kernels: &WaitsFirstOnly,
};

struct WaitsFirstOnly;

impl Kernels for WaitsFirstOnly {
    fn waits(&self, n: usize) -> usize {
        n.min(1)
    }
    fn pick(&self, n: usize, _: u64) -> usize {
        n.saturating_sub(1)
    }
}
