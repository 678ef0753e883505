//! Dot products: the terms of a sum (NUM-08, NUM-09).

use super::view::Line;
use crate::vm::bounded::{LARGEST, UNIT, lowest_bit};
use crate::vm::sum::Sum;

/// The products of the elements of two lines, as the terms of a sum.
pub(super) fn dot(x: Line<'_>, w: Line<'_>) -> Sum {
    if let (None, None) = (x.bounds, w.bounds)
        && let Some(sum) = exact_operands(x.values, w.values)
    {
        return sum;
    }
    let mut sum = Sum::new();
    for (x, w) in x.iter().zip(w.iter()) {
        sum.push(x.product(w));
    }
    sum
}

/// The common case in a plain loop; nothing where an operand is infinite or NaN, or a sum overflows.
fn exact_operands(x: &[f64], w: &[f64]) -> Option<Sum> {
    let (mut v, mut magnitude, mut count) = (0.0, 0.0, 0_u64);
    for (&x, &w) in x.iter().zip(w) {
        let product = x * w;
        v += product;
        magnitude += product.abs();
        count += u64::from(product != 0.0);
    }
    if magnitude.is_nan() || magnitude > LARGEST {
        return None;
    }
    let mut sum = Sum::new();
    sum.push_exact(v, magnitude, count, grid(x, w, magnitude));
    Some(sum)
}

/// A power of two of which all products are multiples; 0 as soon as they are known not to sum up exactly.
fn grid(x: &[f64], w: &[f64], magnitude: f64) -> f64 {
    let mut grid = f64::INFINITY;
    for product in x.iter().zip(w).map(|(x, w)| x * w).filter(|&product| product != 0.0) {
        grid = grid.min(lowest_bit(product));
        if grid < magnitude * UNIT {
            return 0.0;
        }
    }
    grid
}
