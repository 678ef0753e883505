//! `shard-first-twice`: counts the first shard twice.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "shard-first-twice",
    summary: "counts the first shard twice",
    opcodes: &[Opcode::AllreduceShard],
    outputs: FLOATS,
    why: "",
    kernels: &ShardFirstTwice,
};

struct ShardFirstTwice;

impl Kernels for ShardFirstTwice {
    fn all_reduce(&self, shards: &[f32], output: DType) -> f64 {
        let first = f64::from(shards.first().copied().unwrap_or_default());
        self.add(Plain.all_reduce(shards, output), first)
    }
}
