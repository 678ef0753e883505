//! `groups-even`: divides a row evenly among its groups, also where the last one is short.

use super::{Fault, FLOATS, QUANTISED};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "groups-even",
    summary: "divides a row evenly among its groups, also where the last one is short",
    opcodes: QUANTISED,
    outputs: FLOATS,
    why: "",
    kernels: &GroupsEven,
};

struct GroupsEven;

impl Kernels for GroupsEven {
    fn group(&self, column: usize, group: usize, k: usize) -> usize {
        column * k.div_ceil(group) / k
    }
}
