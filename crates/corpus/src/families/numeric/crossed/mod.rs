//! Where two axes cross that implementers think of one at a time: ranks, dtypes of one width, operands that share their storage, one
//! buffer as several inputs, parameters that an opcode does not have, contents that change from launch to launch.

mod amounts;
mod masks;
mod quantised;
mod ranks;
mod storage;
mod texts;
mod values;
mod waits;
mod widths;

use super::bench::{Bench, Spec};
use super::data::{Operand, ints, normals, numel, reals};
use crate::builder::{DType, Op, Result, is_unary};

/// The cases of an opcode.
pub fn fill(b: &mut Bench, op: Op) -> Result<()> {
    for part in [
        ranks::fill,
        widths::fill,
        storage::fill,
        texts::fill,
        values::fill,
        waits::fill,
        amounts::fill,
        masks::fill,
        quantised::fill,
    ] {
        part(b, op)?;
    }
    Ok(())
}

/// Ordinary numbers; `what` names the operand within its data family.
fn some(b: &Bench, data: &str, what: &str, dtype: DType, shape: &[u64]) -> Operand {
    let mut prng = b.prng(data, &format!("{what}-{dtype}"));
    reals(dtype, shape, normals(&mut prng, numel(shape), 1.5))
}

/// Whole numbers that differ, from `first` on, as ids and positions.
fn count(first: i64, shape: &[u64]) -> Operand {
    ints(DType::I32, shape, (first..).take(numel(shape)).collect())
}

/// The operands that an opcode takes at least one of, of ordinary numbers and few elements. Float operands take these dtypes in turn.
fn operands(b: &Bench, data: &str, op: Op, dtypes: &[DType]) -> Vec<Operand> {
    let mut given = 0;
    let mut x = |shape: &[u64]| {
        let dtype = dtypes.get(given % dtypes.len().max(1)).copied().unwrap_or(DType::F32);
        given += 1;
        some(b, data, &format!("operand-{given}"), dtype, shape)
    };
    match op {
        _ if is_unary(op) => vec![x(&[2, 5])],
        Op::Embed => vec![count(1, &[3]), x(&[4, 5])],
        Op::RmsNorm => vec![x(&[2, 8]), x(&[8])],
        Op::LayerNorm => vec![x(&[2, 8]), x(&[8]), x(&[8])],
        Op::GemvTile | Op::GemmTile => vec![x(&[4, 6]), x(&[5, 6]), x(&[5])],
        Op::AttentionTile => vec![x(&[2, 4]), x(&[6, 1, 4]), x(&[6, 1, 4]), x(&[2, 6])],
        Op::Rope => vec![x(&[3, 4, 8]), count(2, &[3])],
        Op::SiluMul | Op::Add | Op::Mul => vec![x(&[2, 5]), x(&[2, 5])],
        Op::Dequant => {
            let q = ints(DType::I8, &[3, 8], (0..24).map(|i| i * 5 % 23 - 11).collect());
            vec![q, x(&[3, 2]), x(&[3, 2])]
        }
        Op::Softmax => vec![x(&[2, 7])],
        Op::AllreduceShard => vec![x(&[2, 5]), x(&[2, 5]), x(&[2, 5])],
        Op::KvAppend => vec![x(&[1, 4])],
        Op::SampleArgmax => vec![x(&[3, 9])],
        Op::AttentionCombine => (0..3).map(|index| partial(b, data, index)).collect(),
        _ => Vec::new(),
    }
}

/// Four rows of a partial of 4 columns, with ordinary maxima and denominators.
fn partial(b: &Bench, data: &str, index: usize) -> Operand {
    let mut operand = some(b, data, &format!("partial-{index}"), DType::F32, &[4, 6]);
    if let super::data::Values::Reals(values) = &mut operand.values {
        values.iter_mut().skip(5).step_by(6).for_each(|l| *l = 1.0 + l.abs());
    }
    operand
}

/// A task of these operands with the parameters that it needs.
fn plain(
    b: &Bench,
    op: Op,
    form: &str,
    data: &'static str,
    about: &str,
    operands: Vec<Operand>,
    to: DType,
) -> Spec {
    let first = operands.first().map(|operand| operand.shape.clone()).unwrap_or_default();
    let spec = Spec::new(form, data, about).inputs(operands);
    match op {
        Op::Embed => spec.output(to, &[3, 5]).param("hidden", 5),
        Op::RmsNorm | Op::LayerNorm => spec.output(to, &first).param("hidden", 8).param("eps", 0.25),
        Op::GemvTile => spec.output(to, &[4, 5]).param("K", 6).param("N_tile", 5).param("n_off", 0),
        Op::GemmTile => {
            let spec = spec.output(to, &[4, 5]).param("K", 6).param("N_tile", 5).param("n_off", 0);
            spec.param("M_tile", 4)
        }
        Op::AttentionTile => {
            let spec = spec.output(to, &[2, 4]).param("head_dim", 4).param("kv_start", 0).param("kv_len", 6);
            spec.param("n_heads", 2).param("n_kv_heads", 1).param("scale", 0.5)
        }
        Op::Rope => spec.output(to, &first).param("head_dim", 8).param("theta", 100.0),
        Op::Dequant => spec.output(to, &[3, 8]).param("qdtype", 6).param("group", 4),
        Op::KvAppend => {
            let cache = some(b, data, "cache", to, &[3, 1, 4]);
            spec.cache(cache).param("pos", 1)
        }
        Op::SampleArgmax => spec.output(DType::I32, &[3]),
        Op::AttentionCombine => spec.output(to, &[4, 4]),
        _ => spec.output(to, &first),
    }
}

/// Pairs of dtypes for an opcode: only the outputs differ of one that reads F32 partials, only the inputs of one that writes integers.
fn pairs(op: Op, pairs: impl Iterator<Item = (DType, DType)>) -> Vec<(DType, DType)> {
    let mut found: Vec<(DType, DType)> = Vec::new();
    for (from, to) in pairs {
        let pair = match op {
            Op::AttentionCombine => (DType::F32, to),
            Op::SampleArgmax => (from, DType::I32),
            _ => (from, to),
        };
        if !found.contains(&pair) {
            found.push(pair);
        }
    }
    found
}
