//! `group-ragged-joined`: counts the columns of a short last group to the group before.

use super::{Fault, FLOATS, QUANTISED};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "group-ragged-joined",
    summary: "counts the columns of a short last group to the group before",
    opcodes: QUANTISED,
    outputs: FLOATS,
    why: "",
    kernels: &GroupRaggedJoined,
};

struct GroupRaggedJoined;

impl Kernels for GroupRaggedJoined {
    fn group(&self, column: usize, group: usize, k: usize) -> usize {
        (column / group).min((k / group).saturating_sub(1))
    }
}
