//! `empty-partial-lowest`: writes the lowest finite number as maximum of an empty partial.

use megakernel_ir::{DType, Opcode};

use super::Fault;
use crate::kernels::Kernels;
use crate::parts::Attended;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "empty-partial-lowest",
    summary: "writes the lowest finite number as maximum of an empty partial",
    opcodes: &[Opcode::AttentionTile],
    outputs: &[DType::F32],
    why: "a partial is F32",
    kernels: &EmptyPartialLowest,
};

struct EmptyPartialLowest;

impl Kernels for EmptyPartialLowest {
    fn attended_nothing(&self, head_dim: usize) -> Attended {
        Attended { a: vec![0.0; head_dim], m: f64::from(f32::MIN), l: 0.0 }
    }
}
