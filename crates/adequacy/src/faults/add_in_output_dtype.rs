//! `add-in-output-dtype`: rounds both operands to the output's dtype before it adds them.

use megakernel_ir::{DType, Opcode};

use super::{Fault, NARROW, round};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "add-in-output-dtype",
    summary: "rounds both operands to the output's dtype before it adds them",
    opcodes: &[Opcode::Add],
    outputs: NARROW,
    why: "a value held in binary32 is an F32 already",
    kernels: &AddInOutputDtype,
};

struct AddInOutputDtype;

impl Kernels for AddInOutputDtype {
    fn sum_of_two(&self, a: f64, b: f64, output: DType) -> f64 {
        self.add(round(output, a), round(output, b))
    }
}
