//! `waits-one-less`: starts a task when all producers of a counter but one have finished.

use super::Fault;
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "waits-one-less",
    summary: "starts a task when all producers of a counter but one have finished",
    opcodes: &[],
    outputs: &[],
    why: "it is about the order of tasks, whatever they write",
    kernels: &WaitsOneLess,
};

struct WaitsOneLess;

impl Kernels for WaitsOneLess {
    fn reached(&self, count: u64, threshold: u64) -> bool {
        count + 1 >= threshold
    }
    fn pick(&self, n: usize, _: u64) -> usize {
        n.saturating_sub(1)
    }
}
