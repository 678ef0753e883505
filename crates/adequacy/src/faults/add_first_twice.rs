//! `add-first-twice`: adds the first operand to itself.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "add-first-twice",
    summary: "adds the first operand to itself",
    opcodes: &[Opcode::Add],
    outputs: FLOATS,
    why: "",
    kernels: &AddFirstTwice,
};

struct AddFirstTwice;

impl Kernels for AddFirstTwice {
    fn sum_of_two(&self, a: f64, _: f64, _: DType) -> f64 {
        self.add(a, a)
    }
}
