//! GEMV_TILE and GEMM_TILE: long and ragged K, vocabularies of columns, many rows, and tails of tiles in every axis.

use super::super::bench::{Bench, Spec, round};
use super::super::data::{Operand, Values, formula, ints};
use super::super::dequant::Store;
use super::super::matmul::Extents;
use super::elements::{scales, stored};
use super::{SIZES, draws, ordinary, small};
use crate::builder::{DType, Error, Result};
use megakernel_ir::rule::clause;

use DType::{BF16, F8E4M3, F8E5M2, F16, F32};

/// Dtypes of x, weight and bias, and of the output, in rounds as those of one input are.
fn dtypes(turn: usize) -> impl Iterator<Item = ([DType; 3], DType)> {
    const WEIGHTS: [DType; 5] = [BF16, F8E4M3, F16, F8E5M2, F32];
    const BIASES: [DType; 5] = [F16, F32, F8E5M2, BF16, F8E4M3];
    round(turn)
        .enumerate()
        .map(move |(place, (x, to))| ([x, WEIGHTS[(place + turn) % 5], BIASES[(place + 2 * turn) % 5]], to))
}

const fn e(m: u64, n: u64, k: u64, n_tile: u64, m_tile: u64) -> Extents {
    Extents { m, n, k, n_tile, m_tile }
}

/// GEMV_TILE.
pub fn gemv(b: &mut Bench) -> Result<()> {
    let long = [
        // K beyond 4,096, no multiple of 8 twice.
        e(2, 4, 4099, 3, 0),
        e(1, 5, 5128, 5, 0),
        e(1, 4, 8195, 2, 0),
        // Columns of a vocabulary, in one tile, or in one and the last few.
        e(1, 65_603, 3, 65_603, 0),
        e(1, 66_003, 2, 65_536, 0),
        e(1, 65_541, 2, 65_541, 0),
        // Rows.
        e(260, 3, 9, 2, 0),
        e(300, 2, 12, 2, 0),
        e(517, 2, 7, 1, 0),
    ];
    exact(b, &long)?;
    let models = [
        e(1, 131_077, 2, 131_072, 0),
        e(1, 152_064, 2, 152_000, 0),
        e(1, 300, 24, 128, 0),
        e(1, 1030, 17, 1030, 0),
        e(1, 3, 1031, 1, 0),
        e(1, 2, 14_339, 2, 0),
        e(3, 129, 33, 64, 0),
        e(1, 4100, 9, 1025, 0),
        e(70, 65, 20, 65, 0),
        e(2, 130, 515, 33, 0),
    ];
    rounded(b, &models)?;
    quantised(b, [e(1, 4, 4112, 3, 0), e(1, 3, 8208, 3, 0), e(2, 3, 5120, 2, 0)])
}

/// GEMM_TILE.
pub fn gemm(b: &mut Bench) -> Result<()> {
    let long = [
        e(2, 3, 4099, 2, 1),
        e(3, 2, 5128, 2, 2),
        e(2, 2, 8195, 1, 2),
        // More rows or columns than 8 bits count, in one tile, and in tiles that leave tails.
        e(259, 3, 5, 3, 259),
        e(300, 4, 6, 4, 128),
        e(517, 2, 4, 2, 512),
        e(3, 261, 5, 261, 3),
        e(2, 300, 4, 300, 2),
        e(4, 517, 3, 512, 4),
    ];
    exact(b, &long)?;
    // Tails of one, of half a tile and a bit, and of all but one, for tiles of 8 to 128 in each axis.
    let tails = [
        e(9, 15, 23, 8, 8),
        e(17, 31, 40, 16, 16),
        e(33, 63, 47, 32, 32),
        e(65, 97, 24, 64, 64),
        e(129, 35, 17, 32, 128),
        e(7, 130, 65, 128, 4),
        e(130, 7, 129, 4, 128),
        e(127, 66, 31, 128, 128),
        e(72, 50, 63, 24, 40),
        e(2, 3, 2051, 3, 2),
    ];
    rounded(b, &tails)?;
    quantised(b, [e(2, 3, 4112, 2, 1), e(2, 2, 8208, 2, 2), e(3, 3, 5120, 3, 2)])
}

/// The form of a case.
fn form(e: Extents, what: &str) -> String {
    match e.m_tile {
        0 => format!("{}-tiles-of-{}{what}", e.name(), e.n_tile),
        m_tile => format!("{}-tiles-of-{m_tile}x{}{what}", e.name(), e.n_tile),
    }
}

/// Small integers, with a bias, whose sums are exact: bit for bit, whatever the order.
fn exact(b: &mut Bench, extents: &[Extents]) -> Result<()> {
    for (turn, &e) in extents.iter().enumerate() {
        for ([x, w, bias], to) in dtypes(turn) {
            let seed = |what: &str| b.formula_seed(&format!("{}-{what}", e.name()));
            let biased = turn % 2 == 1;
            let form = form(e, if biased { "-bias" } else { "" });
            let left = small(x, &[e.m, e.k], 2, seed("x"));
            let right = small(w, &[e.n, e.k], 3, seed("w"));
            let offset = small(bias, &[e.n], 7, seed("bias"));
            let (xs, ws) = (left.integers().map_err(Error)?, right.integers().map_err(Error)?);
            let offsets = if biased { offset.integers().map_err(Error)? } else { vec![0; e.n as usize] };
            let k = e.k as usize;
            let known = xs.chunks(k).flat_map(|x| {
                ws.chunks(k)
                    .zip(&offsets)
                    .map(move |(w, bias)| (x.iter().zip(w).map(|(x, w)| x * w).sum::<i64>() + bias) as f64)
            });
            let known = Values::Reals(known.collect());
            let spec = Spec::new(form, SIZES, "small integers in a product as large as models have them")
                .inputs([formula(left), formula(right)])
                .inputs(biased.then(|| formula(offset)))
                .output(to, &[e.m, e.n])
                .known(known)
                .clause(clause::NUM_09);
            b.add_sampled(e.tiles(spec), &[e.m, e.n])?;
        }
    }
    Ok(())
}

/// Ordinary numbers, with a bias every other time; two triples of dtypes each.
fn rounded(b: &mut Bench, extents: &[Extents]) -> Result<()> {
    for (turn, &e) in extents.iter().enumerate() {
        // The longest with one triple.
        let some = if e.n > 1 << 16 { 1 } else { 2 };
        for ([x, w, bias], to) in dtypes(turn).skip(turn % 4).take(some) {
            let seed = |what: &str| b.formula_seed(&format!("{}-{what}", e.name()));
            let mut inputs =
                vec![ordinary(x, &[e.m, e.k], 1, seed("x")), ordinary(w, &[e.n, e.k], 0, seed("w"))];
            if turn % 2 == 0 {
                inputs.push(ordinary(bias, &[1, e.n], 3, seed("bias")));
            }
            let spec =
                Spec::new(form(e, ""), SIZES, "ordinary numbers in a product as large as models have them")
                    .inputs(inputs)
                    .output(to, &[e.m, e.n])
                    .clause(clause::NUM_08);
            b.add_sampled(e.tiles(spec), &[e.m, e.n])?;
        }
    }
    Ok(())
}

/// Quantised weights with K beyond 4,096, and more groups than 5, 6 and 8 bits count.
fn quantised(b: &mut Bench, extents: [Extents; 3]) -> Result<()> {
    for (turn, (e, group)) in extents.into_iter().zip([16, 32, 8]).enumerate() {
        for (place, ([x, scale, zero], to)) in dtypes(turn).enumerate() {
            let store = Store::ALL[(turn + place) % 3];
            let groups = [e.n, e.k.div_ceil(group)];
            let name = form(e, &format!("-{}", store.name()));
            let mut inputs: Vec<Operand> = vec![
                ordinary(x, &[e.m, e.k], 0, b.formula_seed(&format!("{name}-x"))),
                formula(stored(store, &[e.n, e.k], b.formula_seed(&name))),
                formula(scales(scale, &groups, -5)),
            ];
            let zero = if place == 2 { DType::I8 } else { zero };
            if place % 2 == 0 {
                inputs.push(formula(draws(zero, &groups, (-6, 6), 0, b.formula_seed("zeros"))));
            }
            let spec = Spec::new(name, SIZES, "K beyond 4,096, and more groups than 8 bits count")
                .inputs(inputs)
                .output(to, &[e.m, e.n])
                .param("qdtype", store.code())
                .param("group", group)
                .clause(clause::NUM_08);
            b.add_sampled(e.tiles(spec), &[e.m, e.n])?;
        }
    }
    mixed(b)
}

/// Scales and zero points of every dtype with x of every other, in small products.
fn mixed(b: &mut Bench) -> Result<()> {
    let gemm = b.opcode() == "gemm-tile";
    let e = e(2, 5, 24, 3, if gemm { 1 } else { 0 });
    for turn in 0..3 {
        for ([x, scale, zero], to) in dtypes(turn) {
            let store = Store::ALL[turn];
            let groups = [e.n, 3];
            let form = form(e, &format!("-mixed-{}", store.name()));
            let zeros = (0..15).map(|i| i * 5 % 7 - 3).collect();
            let inputs = [
                ordinary(x, &[e.m, e.k], 0, b.formula_seed(&format!("{form}-x"))),
                formula(stored(store, &[e.n, e.k], b.formula_seed(&form))),
                formula(scales(scale, &groups, -3)),
                ints(zero, &groups, zeros),
            ];
            let spec = Spec::new(form, "mixed", "x, scales and zero points of different dtypes")
                .inputs(inputs)
                .output(to, &[e.m, e.n])
                .param("qdtype", store.code())
                .param("group", 8)
                .clause(clause::NUM_13);
            b.add(e.tiles(spec))?;
        }
    }
    Ok(())
}
