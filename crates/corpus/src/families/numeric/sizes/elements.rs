//! Opcodes that compute each element by itself, with more elements than 16 bits count.

use super::super::bench::{Bench, FROM_F32, Pair, Spec, every, round};
use super::super::data::{Operand, Values, formula};
use super::super::dequant::Store;
use super::{SIZES, draws, empty, line, ordinary};
use crate::builder::{DType, Result};
use megakernel_ir::formula::Formula;

const ABOUT: &str = "as many elements as models have, no multiple of 4";

/// More elements than a block has threads, in one line, in few, and in many.
const LONG: [(&str, &[u64]); 3] = [("1x1027", &[1, 1027]), ("5x421", &[5, 421]), ("257x9", &[257, 9])];

/// More elements than 16 bits count. That costs much, so each opcode has it with some dtypes, and all together with each three times.
const LONGEST: (&str, &[u64]) = ("5x13127", &[5, 13_127]);

/// Opcodes that compute each element by itself, in the order in which they take dtypes by turns; later ones as if they stood at its end.
const OPCODES: [&str; 7] = ["add", "mul", "silu-mul", "gelu", "allreduce-shard", "copy", "dequant"];

/// The dtypes with which an opcode has the longest.
fn longest(opcode: &str) -> impl Iterator<Item = Pair> {
    let index = OPCODES.iter().position(|name| *name == opcode).unwrap_or(OPCODES.len());
    let pairs: Vec<Pair> = round(index).collect();
    pairs.into_iter().cycle().skip(index).take(3)
}

/// Each form with the dtypes that it is tried with.
fn forms(opcode: &str) -> Vec<(&'static str, &'static [u64], Pair)> {
    let long = LONG.into_iter().enumerate();
    let long = long.flat_map(|(turn, (form, shape))| round(turn).map(move |pair| (form, shape, pair)));
    let (form, shape) = LONGEST;
    long.chain(longest(opcode).map(|pair| (form, shape, pair)))
        .chain(BEYOND.into_iter().zip(every()).map(|((form, shape), pair)| (form, shape, pair)))
        .collect()
}

/// Sizes just beyond powers of two, with a pair of dtypes each.
const BEYOND: [(&str, &[u64]); 3] = [("65", &[65]), ("3x87", &[3, 87]), ("2x2051", &[2, 2051])];

/// Cases of `count` operands of ordinary numbers.
fn ordinary_cases(b: &mut Bench, count: usize, reach: i32) -> Result<()> {
    for (form, shape, (from, to)) in forms(&b.opcode()) {
        let seed = |index: usize| b.formula_seed(&format!("{form}-{from}-{index}"));
        let inputs: Vec<Operand> =
            (0..count).map(|index| ordinary(from, shape, reach, seed(index))).collect();
        b.add_sampled(Spec::new(form, SIZES, ABOUT).inputs(inputs).output(to, shape), shape)?;
    }
    Ok(())
}

/// ADD.
pub fn add(b: &mut Bench) -> Result<()> {
    ordinary_cases(b, 2, 3)
}

/// MUL of two operands.
pub fn mul(b: &mut Bench) -> Result<()> {
    ordinary_cases(b, 2, 2)
}

/// SILU_MUL.
pub fn silu_mul(b: &mut Bench) -> Result<()> {
    ordinary_cases(b, 2, 3)
}

/// An opcode of one operand.
pub fn unary(b: &mut Bench) -> Result<()> {
    ordinary_cases(b, 1, 2)
}

/// ALLREDUCE_SHARD, and shards of different dtypes.
pub fn allreduce(b: &mut Bench) -> Result<()> {
    ordinary_cases(b, 3, 3)?;
    use DType::{BF16, F8E4M3, F8E5M2, F16, F32};
    let mixes: [(&str, &[DType]); 4] = [
        ("mixed-2", &[F16, BF16]),
        ("mixed-3", &[F32, F8E4M3, BF16]),
        ("mixed-5", &[F8E5M2, F32, F16, F8E4M3, BF16]),
        ("mixed-8", &[BF16, F8E5M2, F32, F8E4M3, F16, F16, F32, BF16]),
    ];
    for (form, dtypes) in mixes {
        for &(_, to) in FROM_F32 {
            let shape = &[3, 31];
            let inputs = dtypes
                .iter()
                .enumerate()
                .map(|(index, &dtype)| ordinary(dtype, shape, 2, b.formula_seed(&format!("{form}-{index}"))));
            let inputs: Vec<Operand> = inputs.collect();
            let spec = Spec::new(form, SIZES, "shards of different dtypes").inputs(inputs).output(to, shape);
            b.add_sampled(spec, shape)?;
        }
    }
    Ok(())
}

/// COPY: what is written is known.
pub fn copy(b: &mut Bench) -> Result<()> {
    for (form, shape, (from, to)) in forms(&b.opcode()) {
        let x = ordinary(from, shape, 3, b.formula_seed(&format!("{form}-{from}")));
        let known = reals(&x)?;
        let shape = [shape.iter().product()];
        let spec = Spec::new(form, SIZES, ABOUT).input(x).output(to, &shape).known(known);
        b.add_sampled(spec, &shape)?;
    }
    // Integers are judged as a whole, so there are few.
    for (form, dtype, n, most) in [
        ("i32-300", DType::I32, 300, 70_001),
        ("i8-1031", DType::I8, 1031, 127),
        ("u8-517", DType::U8, 517, 255),
    ] {
        let low = if dtype == DType::U8 { 0 } else { -most };
        let x = draws(dtype, &[n], (low, most), 0, b.formula_seed(form));
        let known = Values::Ints(x.integers().map_err(crate::builder::Error)?);
        let spec =
            Spec::new(form, SIZES, "integers, more than 8 bits count").input(formula(x)).output(dtype, &[n]);
        b.add(spec.known(known).clause(megakernel_ir::rule::clause::NUM_13))?;
    }
    Ok(())
}

/// The numbers of a formula.
pub fn reals(operand: &Operand) -> Result<Values> {
    match &operand.values {
        Values::Formula(formula) => {
            formula.tensor().map(|tensor| Values::Reals(tensor.reals())).map_err(crate::builder::Error)
        }
        other => Ok(other.clone()),
    }
}

/// Integers of each storage.
pub fn stored(store: Store, shape: &[u64], seed: u64) -> Formula {
    let mut shape = shape.to_vec();
    match store {
        Store::I8 => draws(DType::I8, &shape, (-128, 127), 0, seed),
        Store::I4 => draws(DType::I4, &shape, (0, 15), 0, seed),
        Store::Packed => {
            if let Some(last) = shape.last_mut() {
                *last /= 2;
            }
            draws(DType::U8, &shape, (0, 255), 0, seed)
        }
    }
}

/// Scales that differ from group to group, 4 to 14 times 2^exponent, and repeat after 11; 4 to 7 in F8E5M2, after 4.
pub fn scales(dtype: DType, shape: &[u64], exponent: i32) -> Formula {
    let terms = vec![line(4, 1, 1, Some(if dtype == DType::F8E5M2 { 4 } else { 11 }))];
    Formula { exponent, terms, ..empty(dtype, shape) }
}

/// DEQUANT: long rows, many rows, and more groups than 8 bits count.
pub fn dequant(b: &mut Bench) -> Result<()> {
    let forms: [(&str, [u64; 2], u64); 3] =
        [("1x2312", [1, 2312], 8), ("3x1302", [3, 1302], 4), ("259x12", [259, 12], 4)];
    let long = forms.into_iter().enumerate();
    let long = long.flat_map(|(turn, form)| round(turn).map(move |pair| (form, pair)));
    let longest = longest("dequant").map(|pair| (("3x22002", [3, 22_002], 64), pair));
    for (place, ((form, shape, group), (scale, to))) in long.chain(longest).enumerate() {
        let store = Store::ALL[place % 3];
        let name = format!("{form}-{}", store.name());
        let groups = [shape[0], shape[1].div_ceil(group)];
        let mut inputs =
            vec![formula(stored(store, &shape, b.formula_seed(&name))), formula(scales(scale, &groups, -3))];
        if place % 2 == 0 {
            inputs.push(formula(draws(DType::I8, &groups, (-6, 6), 0, b.formula_seed("zeros"))));
        }
        let spec =
            Spec::new(name, SIZES, "as many elements as models have, and more groups than 8 bits count")
                .inputs(inputs)
                .output(to, &shape)
                .param("qdtype", store.code())
                .param("group", group);
        b.add_sampled(spec, &shape)?;
    }
    Ok(())
}
