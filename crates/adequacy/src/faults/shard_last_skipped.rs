//! `shard-last-skipped`: leaves out the last shard, where there are several.

use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS};
use crate::kernels::{Kernels, Plain};

/// The fault.
pub const FAULT: Fault = Fault {
    id: "shard-last-skipped",
    summary: "leaves out the last shard, where there are several",
    opcodes: &[Opcode::AllreduceShard],
    outputs: FLOATS,
    why: "",
    kernels: &ShardLastSkipped,
};

struct ShardLastSkipped;

impl Kernels for ShardLastSkipped {
    fn all_reduce(&self, shards: &[f32], output: DType) -> f64 {
        let but_last = shards.get(..shards.len().saturating_sub(1)).filter(|shards| !shards.is_empty());
        Plain.all_reduce(but_last.unwrap_or(shards), output)
    }
}
