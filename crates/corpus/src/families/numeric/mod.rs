//! Numeric cases: one task, inputs made to show how it goes wrong, and the reference's values and bounds.
//!
//! One file for each group of opcodes; [`data`] has the numbers, [`probe`] the exact probes, [`bench`] writes the cases.

mod attention;
mod bench;
pub mod data;
mod dequant;
mod elementwise;
mod matmul;
mod movement;
mod norms;
pub mod probe;
mod quantised;
mod rope;
mod shards;

pub use data::{Operand, Values};

use self::bench::Bench;
use super::plan::Plan;
use crate::builder::{Op, Result};

/// The numeric cases of every opcode that computes.
pub fn plans(seed: u64) -> Result<Vec<Plan>> {
    type Fill = fn(&mut Bench) -> Result<()>;
    let table: &[(Op, &[Fill])] = &[
        (Op::Copy, &[movement::copy]),
        (Op::Embed, &[movement::embed]),
        (Op::RmsNorm, &[norms::rmsnorm]),
        (Op::LayerNorm, &[norms::layernorm]),
        (Op::GemvTile, &[matmul::gemv, quantised::gemv]),
        (Op::GemmTile, &[matmul::gemm, quantised::gemm]),
        (Op::AttentionTile, &[attention::attention]),
        (Op::Rope, &[rope::rope]),
        (Op::SiluMul, &[elementwise::silu_mul]),
        (Op::Gelu, &[elementwise::gelu]),
        (Op::Add, &[elementwise::add]),
        (Op::Mul, &[elementwise::mul]),
        (Op::Dequant, &[dequant::dequant]),
        (Op::Softmax, &[norms::softmax]),
        (Op::AllreduceShard, &[shards::allreduce]),
        (Op::KvAppend, &[movement::kv_append]),
        (Op::SampleArgmax, &[movement::sample_argmax]),
        (Op::AttentionCombine, &[shards::combine]),
    ];
    let mut plans = Vec::new();
    for &(op, fills) in table {
        let mut bench = Bench::new(op, seed);
        for fill in fills {
            fill(&mut bench)?;
        }
        plans.extend(bench.into_plans()?);
    }
    Ok(plans)
}

#[cfg(test)]
mod tests;
