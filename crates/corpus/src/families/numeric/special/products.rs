//! Special values in matrix products, plain and quantised, and in DEQUANT.

use megakernel_ir::rule::clause;

use super::{ABOUT, ORDINARY, PLACES, big, each, lines, subnormals, with};
use crate::builder::{DType, Result};
use crate::families::numeric::bench::{Bench, FROM_F32, Pair, Spec};
use crate::families::numeric::data::{ints, power, reals};
use crate::families::numeric::dequant::Store;
use crate::families::numeric::matmul::Extents;

/// GEMV_TILE.
pub fn gemv(b: &mut Bench) -> Result<()> {
    each(b, |data, at, pair| plain(data, at, pair, 0))?;
    each(b, |data, at, pair| quantised(data, at, pair, 0))?;
    overflowing(b, 0)
}

/// GEMM_TILE.
pub fn gemm(b: &mut Bench) -> Result<()> {
    each(b, |data, at, pair| plain(data, at, pair, 4))?;
    each(b, |data, at, pair| quantised(data, at, pair, 3))?;
    overflowing(b, 2)
}

/// Rows of x and of W with a special value each, so that every one meets every other, ordinary numbers and zeros; and a bias.
fn plain(data: &'static str, at: usize, (from, to): Pair, m_tile: u64) -> Spec {
    let [low, high] = subnormals(from);
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let alone = |value| with([0.0; 5], at, value);
    let beside = |value| with(ORDINARY, at, value);
    let (m, x) =
        lines(&[ORDINARY, [0.0; 5], beside(nan), beside(inf), beside(-inf), alone(high), alone(big(from))]);
    let (n, w) = lines(&[
        ORDINARY,
        [0.0; 5],
        beside(nan),
        beside(inf),
        alone(low),
        alone(-high),
        alone(big(from)),
        [0.0; 5],
        [0.0; 5],
        [0.0; 5],
    ]);
    let bias = vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, nan, inf, low];
    let spec = Spec::new("specials", data, ABOUT)
        .inputs([reals(from, &[m, 5], x), reals(from, &[n, 5], w), reals(from, &[n], bias)])
        .output(to, &[m, n]);
    Extents { m, n, k: 5, n_tile: 5, m_tile }.tiles(spec)
}

/// Rows of scales and zero points with a special value each.
fn quantised(data: &'static str, at: usize, (from, to): Pair, m_tile: u64) -> Spec {
    let [low, high] = subnormals(from);
    let group = at / 2;
    let column = 2 * group;
    let alone = |value| with([0.0; 6], column, value);
    let ordinary = [1.0, -2.0, 2.0, 3.0, -1.0, 1.0];
    let (m, x) = lines(&[ordinary, [0.0; 6], alone(1.0), alone(big(from)), with(ordinary, column, f64::NAN)]);
    // Small where a large x meets them: sums must not overflow before they are scaled.
    let q = [3, 0, -2, 1, 1, -4];
    let scales = [1.0, 2.0, 0.5];
    let zeros = [1.0, -1.0, 2.0];
    let rows = [
        (q, scales, zeros),
        (q, with(scales, group, f64::NAN), zeros),
        (q, scales, with(zeros, group, f64::NAN)),
        ([0; 6], with([1.0; 3], group, big(from)), with([0.0; 3], group, high)),
        (q, with([0.0; 3], group, -high), [0.0; 3]),
        (q, with([0.0; 3], group, low), [0.0; 3]),
        ([0; 6], scales, zeros),
        ([0; 6], with(scales, group, f64::NAN), [0.0; 3]),
    ];
    let n = rows.len() as u64;
    let stored = rows.iter().flat_map(|(q, _, _)| q.iter().copied()).collect();
    let (_, scales) = lines(&rows.map(|(_, scales, _)| scales));
    let (_, zeros) = lines(&rows.map(|(_, _, zeros)| zeros));
    let spec = Spec::new("specials-quantised", data, ABOUT)
        .inputs([reals(from, &[m, 6], x), ints(DType::I8, &[n, 6], stored)])
        .inputs([reals(from, &[n, 3], scales), reals(from, &[n, 3], zeros)])
        .output(to, &[m, n])
        .param("qdtype", 6)
        .param("group", 2);
    Extents { m, n, k: 6, n_tile: 4, m_tile }.tiles(spec)
}

/// Sums of x and q near the end of binary32, which the scale brings back to small numbers, and some beyond it; and an x that
/// may not meet its scale before a weight of 0. No result of a conforming implementation is rounded.
fn overflowing(b: &mut Bench, m_tile: u64) -> Result<()> {
    for (data, at) in PLACES {
        let at = [0, 1, 3, 5, 7].get(at).copied().unwrap_or(0);
        for (turn, &(_, to)) in FROM_F32.iter().enumerate() {
            let (large, small) = (power(124), power(-60));
            let signs = [1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0];
            let count = [1.0, 2.0, 1.0, 3.0, -1.0, 2.0, -2.0, 1.0];
            let near = signs.map(|sign| sign * large);
            let (m, x) = lines(&[
                near,
                with(count.map(|n| n * small), at, power(70)),
                count.map(|n| n * small),
                with(near, at, f64::INFINITY),
            ]);
            // Magnitudes that add up to 13, to 32 in the first group, and to 32 in the second.
            let fits = [2, 1, -1, 3, 1, -2, 2, 1];
            let [first, second] = [[7, 7, -7, 7, 1, 1, 0, 1], [1, 0, 1, -1, -7, 7, 7, -7]];
            let with_zero = |mut q: [i64; 8]| {
                q.iter_mut().skip(at).take(1).for_each(|q| *q = 0);
                q
            };
            let rows = [fits, first, second, with_zero(fits)];
            let scales = [power(-124), power(-124), power(-124), power(60)];
            let store = Store::ALL.get((turn + at) % Store::ALL.len()).copied().unwrap_or(Store::I8);
            let from = if turn % 2 == 0 { DType::F32 } else { DType::BF16 };
            let n = rows.len() as u64;
            let about = "sums that overflow before the scale, or nearly do";
            let spec = Spec::new(format!("overflowing-{}", store.name()), data, about)
                .inputs([reals(from, &[m, 8], x), store.operand(&[n, 8], &rows.concat())])
                .input(reals(from, &[n, 2], scales.iter().flat_map(|&scale| [scale; 2]).collect()))
                .output(to, &[m, n])
                .param("qdtype", store.code())
                .param("group", 4);
            let spec = Extents { m, n, k: 8, n_tile: 2, m_tile }.tiles(spec);
            b.add(spec.clause(clause::NUM_08).clause(clause::NUM_09))?;
        }
    }
    Ok(())
}

/// DEQUANT: each special value as a scale and as a zero point; integers that are their zero points beside others.
pub fn dequant(b: &mut Bench) -> Result<()> {
    each(b, |data, at, (from, to)| {
        let group = at / 2;
        let q = [3, 0, -2, 0, 5, 0];
        let (scales, zeros) = ([1.0, 2.0, 0.5], [1.0, -1.0, 2.0]);
        let mut rows = Vec::new();
        for value in super::values(from) {
            rows.push((q, with(scales, group, value), [0.0; 3]));
            let scale = if value.abs() < 1.0 { big(from) } else { 2.0 };
            rows.push(([0; 6], with(scales, group, scale), with(zeros, group, value)));
            rows.push((q, scales, with(zeros, group, value)));
        }
        // Products of 24 bits and more.
        if from == DType::F32 {
            rows.push(([7, -7, 11, -13, 125, -127], [1.0 + 3.0 * super::power(-23); 3], [0.0; 3]));
        }
        let n = rows.len() as u64;
        let stored = rows.iter().flat_map(|(q, _, _)| q.iter().copied()).collect();
        let (_, scales) = lines(&rows.iter().map(|(_, scales, _)| *scales).collect::<Vec<_>>());
        let (_, zeros) = lines(&rows.iter().map(|(_, _, zeros)| *zeros).collect::<Vec<_>>());
        Spec::new("specials", data, ABOUT)
            .input(ints(DType::I8, &[n, 6], stored))
            .inputs([reals(from, &[n, 3], scales), reals(from, &[n, 3], zeros)])
            .output(to, &[n, 6])
            .param("qdtype", 6)
            .param("group", 2)
    })
}
