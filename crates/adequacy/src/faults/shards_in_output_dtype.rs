//! `shards-in-output-dtype`: rounds to the output's dtype after every shard.

use megakernel_ir::{DType, Opcode};

use super::{Fault, NARROW, round};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "shards-in-output-dtype",
    summary: "rounds to the output's dtype after every shard",
    opcodes: &[Opcode::AllreduceShard],
    outputs: NARROW,
    why: "a value held in binary32 is an F32 already",
    kernels: &ShardsInOutputDtype,
};

struct ShardsInOutputDtype;

impl Kernels for ShardsInOutputDtype {
    fn all_reduce(&self, shards: &[f32], output: DType) -> f64 {
        shards.iter().fold(0.0, |sum, &shard| round(output, self.add(sum, f64::from(shard))))
    }
}
