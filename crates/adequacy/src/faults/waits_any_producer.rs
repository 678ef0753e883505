//! `waits-any-producer`: starts a task when the first producer of a counter has finished.

use super::Fault;
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "waits-any-producer",
    summary: "starts a task when the first producer of a counter has finished",
    opcodes: &[],
    outputs: &[],
    why: "it is about the order of tasks, whatever they write",
    kernels: &WaitsAnyProducer,
};

struct WaitsAnyProducer;

impl Kernels for WaitsAnyProducer {
    fn reached(&self, count: u64, threshold: u64) -> bool {
        count >= threshold.min(1)
    }
    fn pick(&self, n: usize, _: u64) -> usize {
        n.saturating_sub(1)
    }
}
