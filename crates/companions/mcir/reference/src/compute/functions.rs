//! The functions of clause MCI-06, in binary64 before the cast.

use std::f64::consts::SQRT_2;

use megakernel_mcir::{Along, Binary, Fold, Unary, Update};

use super::plan::Does;
use super::run::{Tile, value};

/// A maximum of which a NaN makes a NaN.
fn most(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

fn one(function: Unary, a: f64) -> f64 {
    match function {
        Unary::Copy => a,
        Unary::Neg => -a,
        Unary::Exp => libm::exp(a),
        Unary::Rsqrt => 1.0 / a.sqrt(),
        Unary::Silu => a / (1.0 + libm::exp(-a)),
        // Without the cancellation of 1 + erf.
        Unary::Gelu => a / 2.0 * libm::erfc(-a / SQRT_2),
    }
}

fn two(function: Binary, a: f64, b: f64) -> f64 {
    match function {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Max => most(a, b),
    }
}

fn rows(tile: &Tile) -> usize {
    tile.shape.first().copied().unwrap_or(1)
}

fn columns(tile: &Tile) -> usize {
    tile.shape.get(1).copied().unwrap_or(1)
}

/// Gives a result its shape and its numbers.
fn fill(result: &mut Tile, shape: &[usize], numbers: impl Iterator<Item = f64>) {
    result.shape.clear();
    result.shape.extend_from_slice(shape);
    result.numbers.clear();
    result.numbers.extend(numbers);
}

/// Computes what a node produces into `results`, one tile each, of which the old contents mean nothing.
pub fn made<'t>(does: &Does, tile: &dyn Fn(usize) -> Option<&'t Tile>, point: &[i64], results: &mut [Tile]) {
    let empty = Tile::default();
    let of = |place: usize| tile(place).unwrap_or(&empty);
    let a = of(0);
    if let (Does::Update(Update::OnlineSoftmax), [most, sums, weights, factors]) = (does, &mut *results) {
        softmax([a, of(1), of(2)], [most, sums, weights, factors]);
        return;
    }
    let Some(result) = results.first_mut() else { return };
    let each = a.numbers.iter().copied();
    match does {
        Does::Matmul(turned) => product(a, of(1), *turned, result),
        Does::Transpose => {
            let (m, n) = (rows(a), columns(a));
            fill(result, &[n, m], (0..m * n).map(|place| a.numbers[place % m * n + place / m]));
        }
        Does::Unary(function) => fill(result, &a.shape, each.map(|a| one(*function, a))),
        Does::Scale(p, q) => fill(result, &a.shape, each.map(|a| a * p / q)),
        Does::Binary(function, along) => {
            let (b, wide) = (&of(1).numbers, columns(a).max(1));
            let function = *function;
            match along {
                None => fill(result, &a.shape, each.zip(b).map(|(a, &b)| two(function, a, b))),
                Some(along) => {
                    let other = |place| b[if *along == Along::Rows { place / wide } else { place % wide }];
                    let numbers = each.enumerate().map(|(place, a)| two(function, a, other(place)));
                    fill(result, &a.shape, numbers);
                }
            }
        }
        Does::Mask(row, column, window) => {
            let (row, column, wide) = (value(row, point), value(column, point), columns(a).max(1));
            let is_kept = |place: usize| {
                let row = row + i128::try_from(place / wide).unwrap_or(0);
                let column = column + i128::try_from(place % wide).unwrap_or(0);
                column <= row && window.is_none_or(|window| column > row - i128::from(window))
            };
            let numbers =
                each.enumerate().map(|(place, a)| if is_kept(place) { a } else { f64::NEG_INFINITY });
            fill(result, &a.shape, numbers);
        }
        Does::Reduce(fold, axis) => reduce(a, *fold, *axis, result),
        Does::Update(Update::Add) => {
            fill(result, &a.shape, each.zip(&of(1).numbers).map(|(a, b)| a + b));
        }
        Does::Update(Update::Max) => {
            fill(result, &a.shape, each.zip(&of(1).numbers).map(|(a, &b)| most(a, b)));
        }
        Does::Update(_) => {
            let (factors, added, wide) = (&of(1).numbers, &of(2).numbers, columns(a).max(1));
            let next = |(place, a): (usize, f64)| a * factors[place / wide] + added[place];
            fill(result, &a.shape, each.enumerate().map(next));
        }
    }
}

/// Row by row, so that the innermost loop runs along memory.
fn product(a: &Tile, b: &Tile, turned: bool, result: &mut Tile) {
    let (m, k) = (rows(a), columns(a));
    let n = if turned { rows(b) } else { columns(b) };
    fill(result, &[m, n], std::iter::repeat_n(0.0, m * n));
    for (row, line) in a.numbers.chunks_exact(k.max(1)).enumerate() {
        let sums = &mut result.numbers[row * n..(row + 1) * n];
        if turned {
            for (sum, other) in sums.iter_mut().zip(b.numbers.chunks_exact(k.max(1))) {
                *sum = dot(line, other);
            }
        } else {
            for (&a, other) in line.iter().zip(b.numbers.chunks_exact(n.max(1))) {
                for (sum, &b) in sums.iter_mut().zip(other) {
                    *sum += a * b;
                }
            }
        }
    }
}

/// With four sums at once: any order of additions is permitted.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (fours, others) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = fours.remainder().iter().zip(others.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in fours.zip(others) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

fn reduce(tile: &Tile, fold: Fold, axis: usize, result: &mut Tile) {
    let mut shape = tile.shape.clone();
    if axis >= shape.len() {
        return;
    }
    let extent = shape.remove(axis);
    let inner: usize = tile.shape.iter().skip(axis + 1).product();
    let count: usize = shape.iter().product();
    let of = |number: usize| {
        let first = number / inner * inner * extent + number % inner;
        let all = (0..extent).map(|along| tile.numbers[first + along * inner]);
        match fold {
            Fold::Sum => all.sum(),
            Fold::Max => all.fold(f64::NEG_INFINITY, most),
        }
    };
    fill(result, &shape, (0..count).map(of));
}

fn softmax([scores, old, sums]: [&Tile; 3], [most_of, new_sums, weights, factors]: [&mut Tile; 4]) {
    let (m, wide) = (rows(scores), columns(scores));
    let most_in = |row: usize| {
        let line = &scores.numbers[row * wide..(row + 1) * wide];
        line.iter().fold(old.numbers[row], |new, &score| most(new, score))
    };
    fill(most_of, &[m], (0..m).map(most_in));
    let most_of = &most_of.numbers;
    // A row that is masked as a whole changes nothing.
    let weight =
        |score: f64, most: f64| if most == f64::NEG_INFINITY { 0.0 } else { libm::exp(score - most) };
    let factor = |row: usize| {
        let most = most_of[row];
        if most == f64::NEG_INFINITY { 1.0 } else { libm::exp(old.numbers[row] - most) }
    };
    fill(factors, &[m], (0..m).map(factor));
    let each = scores.numbers.iter().enumerate();
    fill(weights, &[m, wide], each.map(|(place, &score)| weight(score, most_of[place / wide])));
    let sum = |row: usize| {
        let line = &weights.numbers[row * wide..(row + 1) * wide];
        sums.numbers[row] * factors.numbers[row] + line.iter().sum::<f64>()
    };
    fill(new_sums, &[m], (0..m).map(sum));
}
