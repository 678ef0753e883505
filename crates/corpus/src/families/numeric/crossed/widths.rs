//! Operands of several dtypes, of one width among others: F16 beside BF16, F8E4M3 beside F8E5M2.

use super::super::bench::Bench;
use super::{operands, plain};
use crate::builder::{DType, FLOATS, Op, Result};

use DType::{BF16, F8E4M3, F8E5M2, F16, F32};

/// Of dtypes that operands take in turn. No dtype of the first five holds all numbers of its neighbours.
const MIXES: [(&str, &[DType]); 8] = [
    ("f16-beside-bf16", &[F16, BF16]),
    ("bf16-beside-f16", &[BF16, F16]),
    ("f8-beside-f8", &[F8E4M3, F8E5M2]),
    ("f8-beside-f8-back", &[F8E5M2, F8E4M3]),
    ("bf16-f8-f16", &[BF16, F8E4M3, F16]),
    ("f16-f16-bf16", &[F16, F16, BF16]),
    ("bf16-f16-f16", &[BF16, F16, F16]),
    ("narrow-beside-f32", &[F8E5M2, F32, F32]),
];

/// The cases of an opcode with several float operands that choose their dtype.
pub fn fill(b: &mut Bench, op: Op) -> Result<()> {
    let many = matches!(
        op,
        Op::RmsNorm
            | Op::LayerNorm
            | Op::GemvTile
            | Op::GemmTile
            | Op::AttentionTile
            | Op::SiluMul
            | Op::Add
            | Op::Mul
            | Op::Dequant
            | Op::AllreduceShard
    );
    if !many {
        return Ok(());
    }
    if op == Op::AllreduceShard {
        for &(from, to) in super::texts::ALIKE {
            for (form, shards) in [("alone", 1), ("two", 2), ("five", 5)] {
                let name = |index: usize| format!("{form}-{index}");
                let given =
                    (0..shards).map(|index| super::some(b, "widths", &name(index), from, &[2, 5])).collect();
                b.add(plain(
                    b,
                    op,
                    form,
                    "widths",
                    "shards of another dtype than the sum, of one width",
                    given,
                    to,
                ))?;
            }
        }
    }
    for (turn, (form, dtypes)) in MIXES.into_iter().enumerate() {
        for to in [F32, FLOATS[1 + turn % 4]] {
            let given = operands(b, "widths", op, dtypes);
            b.add(plain(b, op, form, "widths", "operands of several dtypes", given, to))?;
        }
    }
    Ok(())
}
