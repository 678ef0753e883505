//! `group-boundary-late`: begins every group but the first one column late.

use super::{Fault, FLOATS, QUANTISED};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "group-boundary-late",
    summary: "begins every group but the first one column late",
    opcodes: QUANTISED,
    outputs: FLOATS,
    why: "",
    kernels: &GroupBoundaryLate,
};

struct GroupBoundaryLate;

impl Kernels for GroupBoundaryLate {
    fn group(&self, column: usize, group: usize, _: usize) -> usize {
        column.saturating_sub(1) / group
    }
}
