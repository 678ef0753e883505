//! `shards-averaged`: takes the mean of the shards.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "shards-averaged",
    summary: "takes the mean of the shards",
    opcodes: &[Opcode::AllreduceShard],
    outputs: FLOATS,
    why: "",
    kernels: &ShardsAveraged,
};

struct ShardsAveraged;

impl Kernels for ShardsAveraged {
    fn all_reduce(&self, shards: &[f32], output: DType) -> f64 {
        self.div(Plain.all_reduce(shards, output), shards.len() as f64)
    }
}
