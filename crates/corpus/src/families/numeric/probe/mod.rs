//! Exact probes: small integers whose dot products are small integers, whatever the order of summation, and change
//! when any part of the sum is left out, counted twice, or taken from the neighbouring part.
//!
//! A rounding bound grows with the length of the sum, and for a long one it hides a missing tile once the result is
//! stored in 8 or 16 bits. These sums are exact (clause NUM-09), so that the bound is 0, and their results lie in
//! `-7..=7`, where every float dtype has every integer and none rounds another integer to it.

use megakernel_numerics::{decode, encode};

use crate::builder::{DType, Error, FLOATS, Result};
use megakernel_ir::prng::SplitMix64;

/// Tile lengths for which every aligned tile tells: 8 to 1024.
pub const TILES: [usize; 8] = [8, 16, 32, 64, 128, 256, 512, 1024];

/// Results lie in `-LIMIT..=LIMIT`.
pub const LIMIT: i64 = 7;

const BLOCK: usize = 8;
/// Tries at one block before the blocks before it are made anew.
const PATIENCE: usize = 400;
/// Tries in all.
const TRIES: usize = 400_000;

/// What a probe is made of.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Rows of x.
    pub m: usize,
    /// Rows of the weight.
    pub n: usize,
    /// Length of a dot product.
    pub k: usize,
    /// Magnitudes that elements of x may have.
    pub x: Vec<i64>,
    /// Values that elements of the weight may have: with each its negative, and no 0.
    pub w: Vec<i64>,
    /// How far partial sums are driven from zero.
    pub reach: i64,
}

/// Integers x `[m, k]`, w `[n, k]` and y `[m, n] = x w^T`.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Rows of x.
    pub x: Vec<Vec<i64>>,
    /// Rows of the weight.
    pub w: Vec<Vec<i64>>,
    /// The products.
    pub y: Vec<Vec<i64>>,
}

impl Probe {
    /// The elements of x in row-major order.
    pub fn x(&self) -> Vec<i64> {
        self.x.concat()
    }

    /// The elements of the weight in row-major order.
    pub fn w(&self) -> Vec<i64> {
        self.w.concat()
    }

    /// The elements of the product in row-major order.
    pub fn y(&self) -> Vec<f64> {
        self.y.concat().iter().map(|&v| v as f64).collect()
    }
}

/// Builds a probe, or says that the shape leaves no room for one.
pub fn probe(prng: &mut SplitMix64, shape: &Shape) -> Result<Probe> {
    let x: Vec<Vec<i64>> = (0..shape.m).map(|_| x_row(prng, shape)).collect();
    let mut w: Vec<Vec<i64>> = Vec::new();
    let mut y: Vec<Vec<i64>> = vec![Vec::new(); shape.m];
    while w.len() < shape.n {
        let row = w_row(prng, shape, &x)?;
        let products: Vec<i64> = x.iter().map(|x| dot(x, &row)).collect();
        // A row computed with the row before it has to show as well.
        if y.iter().zip(&products).any(|(known, product)| known.last() == Some(product)) {
            continue;
        }
        if shape.reach > 0 && !x.iter().zip(&products).all(|(x, y)| exposes(x, &row, *y)) {
            continue;
        }
        y.iter_mut().zip(products).for_each(|(row, product)| row.push(product));
        w.push(row);
    }
    Ok(Probe { x, w, y })
}

/// A probe whose x is all ones, so that the rows of the weight are summed up. Only the weight can be stale.
pub fn sums(prng: &mut SplitMix64, shape: &Shape) -> Result<Probe> {
    let x = vec![vec![1; shape.k]];
    let w: Vec<Vec<i64>> = (0..shape.n).map(|_| w_row(prng, shape, &x)).collect::<Result<_>>()?;
    let y = vec![w.iter().map(|row| row.iter().sum()).collect()];
    Ok(Probe { x, w, y })
}

/// Whether accumulators of 16 bits, and partial sums that are rounded to 16 bits between tiles, give another result.
fn exposes(x: &[i64], w: &[i64], y: i64) -> bool {
    let narrow = [DType::BF16, DType::F16];
    let tiles = [1, 16, 32, 64, 128].into_iter().filter(|tile| *tile == 1 || 2 * tile <= x.len());
    tiles
        .flat_map(|tile| narrow.map(|dtype| accumulated(x, w, dtype, tile)))
        .all(|wrong| FLOATS.iter().all(|&to| encode(to, wrong) != encode(to, y as f64)))
}

/// The sum with the partial sum after every `tile` terms rounded to a dtype.
fn accumulated(x: &[i64], w: &[i64], dtype: DType, tile: usize) -> f64 {
    let terms: Vec<f64> = x.iter().zip(w).map(|(x, w)| (x * w) as f64).collect();
    terms.chunks(tile).fold(0.0, |sum, part| {
        let sum = part.iter().fold(sum, |sum, term| sum + term);
        decode(dtype, encode(dtype, sum))
    })
}

fn dot(a: &[i64], b: &[i64]) -> i64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Where the landing begins: the end of a row, which uses small elements of x and brings the sums home.
fn landing(k: usize) -> usize {
    let blocks = k / BLOCK;
    blocks.saturating_sub((blocks / 4).clamp(2, 8)) * BLOCK
}

fn x_row(prng: &mut SplitMix64, shape: &Shape) -> Vec<i64> {
    let mut small = shape.x.clone();
    small.sort_unstable();
    small.truncate(3);
    let mut row: Vec<i64> = Vec::with_capacity(shape.k);
    while row.len() < shape.k {
        let from = if row.len() >= landing(shape.k) { &small } else { &shape.x };
        let magnitude = prng.pick(from).copied().unwrap_or(1);
        let value = if prng.below(2) == 0 { magnitude } else { -magnitude };
        if row.last() != Some(&value) {
            row.push(value);
        }
    }
    row
}

fn w_row(prng: &mut SplitMix64, shape: &Shape, x: &[Vec<i64>]) -> Result<Vec<i64>> {
    let mut row: Vec<i64> = Vec::with_capacity(shape.k);
    let mut ready = vec![0; x.len()];
    let mut failures = 0_usize;
    let mut returns = 0_usize;
    for _ in 0..TRIES {
        let start = row.len();
        if start >= shape.k {
            return Ok(row);
        }
        let end = (start + BLOCK).min(shape.k);
        let mut sums = ready.clone();
        for k in start..end {
            let column: Vec<i64> = x.iter().map(|x| at(x, k)).collect();
            let value = match k >= landing(shape.k) {
                true => land(prng, &shape.w, &sums, &column),
                false => steer(prng, &shape.w, &sums, &column, goal(shape, k)),
            };
            row.push(value);
            sums.iter_mut().zip(column).for_each(|(sum, x)| *sum += x * value);
        }
        let home = end < shape.k || sums.iter().all(|sum| *sum != 0 && sum.abs() <= LIMIT);
        if home && x.iter().all(|x| block_tells(x, &row, start)) {
            ready = sums;
            failures = 0;
            continue;
        }
        failures += 1;
        row.truncate(start);
        if failures.is_multiple_of(PATIENCE) {
            // Farther back each time: the sums may have been too far off before the landing began.
            returns += 1;
            let blocks = 4 << (returns / 4).min(8);
            row.truncate(start.saturating_sub(blocks * BLOCK));
            ready = x.iter().map(|x| dot(x, &row)).collect();
        }
    }
    Err(Error(format!("no exact probe of this shape in {TRIES} tries: {shape:?}")))
}

/// Where the sums should be at `k`: a triangle up to `reach`, and back at 0 for the landing.
fn goal(shape: &Shape, k: usize) -> i64 {
    let end = landing(shape.k).max(2) as i64;
    shape.reach * (k as i64).min(end - k as i64) / (end / 2)
}

/// A value of either sign that usually takes the sum farthest from its goal towards it.
fn steer(prng: &mut SplitMix64, from: &[i64], sums: &[i64], column: &[i64], goal: i64) -> i64 {
    let value = prng.pick(from).copied().unwrap_or(1);
    let worst = sums.iter().zip(column).max_by_key(|(sum, _)| (**sum - goal).abs());
    let Some((sum, x)) = worst else { return value };
    let away = (sum - goal).signum() == (x * value).signum();
    let swerve = (sum - goal).abs() > 20 && prng.below(4) != 0;
    if away && swerve { -value } else { value }
}

/// A value that usually takes all sums as close to 0 as one value can.
fn land(prng: &mut SplitMix64, from: &[i64], sums: &[i64], column: &[i64]) -> i64 {
    let value = prng.pick(from).copied().unwrap_or(1);
    if prng.below(4) == 0 {
        return value;
    }
    // Loops and indices, here and in `shifted`: the search for probes is what takes longest where a corpus is generated, and
    // builds for tests do not optimise it.
    let (mut best, mut least) = (value, i64::MAX);
    for &w in from {
        let (mut row, mut farthest) = (0, 0);
        while row < sums.len() && farthest < least {
            farthest = farthest.max((sums[row] + column[row] * w).abs());
            row += 1;
        }
        if farthest < least {
            (best, least) = (w, farthest);
        }
    }
    best
}

/// Whether the block that ends `row`, and every tile that it completes, tells.
fn block_tells(x: &[i64], row: &[i64], start: usize) -> bool {
    let end = row.len();
    let singles = (start..end).all(|k| single_tells(x, row, k));
    let complete = end == x.len();
    singles
        && TILES.iter().all(|&tile| {
            let completes = end.is_multiple_of(tile) || complete;
            !completes || tile_tells(x, row, (end - 1) / tile * tile, tile)
        })
}

fn at(values: &[i64], index: usize) -> i64 {
    values.get(index).copied().unwrap_or(0)
}

/// One k dropped, repeated, or taken from the k before.
fn single_tells(x: &[i64], w: &[i64], k: usize) -> bool {
    let term = at(x, k) * at(w, k);
    let Some(before) = k.checked_sub(1) else { return term != 0 };
    let (x0, w0, x1, w1) = (at(x, before), at(w, before), at(x, k), at(w, k));
    let w_tells = term != 0 && x1 * w0 != term && x0 * w1 != x0 * w0;
    let x_tells = x0 * w1 != term && x0 * w0 != term && x1 * w0 != x0 * w0;
    w_tells && (x_tells || ones(x))
}

/// Whether x has nothing to tell.
fn ones(x: &[i64]) -> bool {
    x.iter().all(|v| *v == 1)
}

/// The sum over a tile's k of `x[k + dx] * w[k + dw]`, where both exist.
fn shifted(x: &[i64], w: &[i64], tile: std::ops::Range<usize>, dx: isize, dw: isize) -> i64 {
    let (mut sum, mut k) = (0, tile.start as isize);
    k = k.max(-dx).max(-dw);
    let end = (tile.end as isize).min(x.len() as isize - dx).min(w.len() as isize - dw);
    while k < end {
        sum += x[(k + dx) as usize] * w[(k + dw) as usize];
        k += 1;
    }
    sum
}

/// The tile that starts at `start`: dropped, repeated, or either or both of its operands taken from the tile before;
/// and the tile before with operands of this one. Rows of x are there from the start, so that what the next tile's x
/// would make of this tile is looked at now, while the weight can still be changed.
fn tile_tells(x: &[i64], w: &[i64], start: usize, tile: usize) -> bool {
    let end = (start + tile).min(w.len());
    let (back, forward) = (-(tile as isize), tile as isize);
    let sum = shifted(x, w, start..end, 0, 0);
    if sum == 0 {
        return false;
    }
    // A short last tile replaces no more than the start of the one before it.
    let next = end..(end + tile).min(x.len());
    let replaced = start..start + next.len();
    if !ones(x)
        && !next.is_empty()
        && shifted(x, w, replaced.clone(), forward, 0) == shifted(x, w, replaced, 0, 0)
    {
        return false;
    }
    let Some(before) = start.checked_sub(tile) else { return true };
    let early = before..before + (end - start);
    let before = shifted(x, w, early.clone(), 0, 0);
    let x_stale =
        || shifted(x, w, start..end, back, 0) == sum || shifted(x, w, start..end, back, back) == sum;
    shifted(x, w, start..end, 0, back) != sum
        && shifted(x, w, early.clone(), 0, forward) != before
        && before != sum
        && (ones(x) || !x_stale())
}

#[cfg(test)]
mod tests;
