//! Numeric cases: one task, inputs made to show how it goes wrong, and the reference's values and bounds.
//!
//! One file for each group of opcodes; [`data`] has the numbers, [`probe`] the exact probes, [`bench`] writes the cases.

mod attention;
mod bench;
mod crossed;
pub mod data;
mod dequant;
mod elementwise;
mod faint;
mod matmul;
mod movement;
mod norms;
pub mod probe;
mod quantised;
mod rope;
mod shards;
mod sizes;
mod special;

pub use data::{Operand, Values};

use self::bench::Bench;
use super::plan::Plan;
use crate::builder::{Error, Op, Result, slug};

/// The numeric cases of every opcode that computes, of those that begin as asked for (`numeric/gelu/`).
pub fn plans(seed: u64, begun: &dyn Fn(&str) -> bool) -> Result<Vec<Plan>> {
    type Fill = fn(&mut Bench) -> Result<()>;
    let table: &[(Op, &[Fill])] = &[
        (Op::Copy, &[movement::copy, special::copy, special::copy_integers, sizes::copy]),
        (Op::Embed, &[movement::embed, special::embed, special::embed_edges, sizes::embed]),
        (Op::RmsNorm, &[norms::rmsnorm, special::rmsnorm, special::rmsnorm_edges, sizes::rmsnorm]),
        (Op::LayerNorm, &[norms::layernorm, special::layernorm, special::layernorm_edges, sizes::layernorm]),
        (Op::GemvTile, &[matmul::gemv, quantised::gemv, special::gemv, sizes::gemv, faint::gemv]),
        (Op::GemmTile, &[matmul::gemm, quantised::gemm, special::gemm, sizes::gemm, faint::gemm]),
        (
            Op::AttentionTile,
            &[
                attention::attention,
                special::attention,
                sizes::attention,
                sizes::online_attention,
                faint::attention,
            ],
        ),
        (Op::Rope, &[rope::rope, special::rope, special::rope_edges, sizes::rope]),
        (Op::SiluMul, &[elementwise::silu_mul, special::silu_mul, sizes::silu_mul]),
        (Op::Gelu, &[elementwise::gelu, special::unary, sizes::unary]),
        (Op::Add, &[elementwise::add, special::add, sizes::add]),
        (Op::Mul, &[elementwise::mul, special::mul, special::mul_edges, sizes::mul]),
        (Op::Dequant, &[dequant::dequant, special::dequant, sizes::dequant]),
        (
            Op::Softmax,
            &[
                norms::softmax,
                special::softmax,
                special::softmax_edges,
                sizes::softmax,
                sizes::online_softmax,
            ],
        ),
        (Op::AllreduceShard, &[shards::allreduce, special::allreduce, sizes::allreduce]),
        (Op::KvAppend, &[movement::kv_append, special::append, special::append_edges, sizes::kv_append]),
        (Op::SampleArgmax, &[movement::sample_argmax, special::argmax, sizes::argmax]),
        (Op::AttentionCombine, &[shards::combine, special::combine, sizes::combine, sizes::online_combine]),
    ];
    let (mut plans, mut conflicts) = (Vec::new(), Vec::new());
    let asked = |op: Op| begun(&format!("numeric/{}/", slug(op.name())));
    for &(op, fills) in table.iter().filter(|(op, _)| asked(*op)) {
        let mut bench = Bench::new(op, seed);
        for fill in fills {
            fill(&mut bench)?;
        }
        crossed::fill(&mut bench, op)?;
        sizes::beyond(&mut bench, op)?;
        sizes::counts(&mut bench, op)?;
        match bench.into_plans() {
            Ok(more) => plans.extend(more),
            Err(Error(conflict)) => conflicts.push(conflict),
        }
    }
    if conflicts.is_empty() { Ok(plans) } else { Err(Error(conflicts.join("\n"))) }
}

#[cfg(test)]
mod tests;
