//! `counter-before-write`: increments the counter before the writes of the task are visible.

use super::Fault;
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "counter-before-write",
    summary: "increments the counter before the writes of the task are visible",
    opcodes: &[],
    outputs: &[],
    why: "it is about the order of tasks, whatever they write",
    kernels: &CounterBeforeWrite,
};

struct CounterBeforeWrite;

impl Kernels for CounterBeforeWrite {
    fn writes_first(&self) -> bool {
        false
    }
    fn pick(&self, n: usize, _: u64) -> usize {
        n.saturating_sub(1)
    }
}
