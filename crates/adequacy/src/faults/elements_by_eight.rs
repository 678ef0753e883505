//! `elements-by-eight`: computes elements in whole groups of eight only.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "elements-by-eight",
    summary: "computes elements in whole groups of eight only",
    opcodes: &[
        Opcode::Copy,
        Opcode::SiluMul,
        Opcode::Gelu,
        Opcode::Add,
        Opcode::Mul,
        Opcode::AllreduceShard,
    ],
    outputs: FLOATS,
    why: "",
    kernels: &ElementsByEight,
};

struct ElementsByEight;

impl Kernels for ElementsByEight {
    fn elements(&self, n: usize) -> usize {
        n / 8 * 8
    }
}
