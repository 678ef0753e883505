//! `empty-partial-zero`: writes 0 as maximum of an empty partial.

use megakernel_ir::{DType, Opcode};

use super::Fault;
use crate::kernels::Kernels;
use crate::parts::Attended;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "empty-partial-zero",
    summary: "writes 0 as maximum of an empty partial",
    opcodes: &[Opcode::AttentionTile],
    outputs: &[DType::F32],
    why: "a partial is F32",
    kernels: &EmptyPartialZero,
};

struct EmptyPartialZero;

impl Kernels for EmptyPartialZero {
    fn attended_nothing(&self, head_dim: usize) -> Attended {
        Attended { a: vec![0.0; head_dim], m: 0.0, l: 0.0 }
    }
}
