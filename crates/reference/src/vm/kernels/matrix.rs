//! GEMV_TILE and GEMM_TILE (clauses OPC-05 and OPC-06): rows of x times rows of a weight, plain or quantised.

use std::ops::Range;

use megakernel_ir::{Opcode, Param};

use super::dot::dot;
use super::view::{Line, last};
use super::{Kernel, TaskView, Written, quant};
use crate::vm::bounded::{Bounded, LARGEST, TINY, lowest_bit};
use crate::vm::sum::Sum;

/// Both opcodes; GEMV_TILE takes all rows of x.
pub(super) struct Matrix;

impl Kernel for Matrix {
    fn run(&self, task: &TaskView<'_>) -> Written {
        let x = task.reals(0);
        let width = last(task.shape(0));
        let part = |start, length| {
            let start = task.size(start);
            start..start.saturating_add(task.size(length))
        };
        let rows = match task.opcode {
            Opcode::GemmTile => part(Param::MOff, Param::MTile),
            _ => 0..x.len().checked_div(width).unwrap_or(0),
        };
        let rows: Vec<Line<'_>> = rows.map(|row| x.row(row, width)).collect();
        let columns = part(Param::NOff, Param::NTile);
        Written::Reals(match task.params.get(Param::QDType) {
            None => plain(task, &rows, columns, width),
            Some(_) => quantised(task, &rows, columns, width),
        })
    }
}

fn plain(task: &TaskView<'_>, rows: &[Line<'_>], columns: Range<usize>, width: usize) -> Vec<Bounded> {
    let (w, bias) = (task.reals(1), task.reals(2));
    let mut values = Vec::with_capacity(rows.len().saturating_mul(columns.len()));
    for &x in rows {
        for column in columns.clone() {
            let mut sum = dot(x, w.row(column, width));
            sum.push(bias.at(column));
            values.push(sum.finish(task.unit, 1.0));
        }
    }
    values
}

/// One weight `(q - zero) * scale`.
struct Weight {
    /// The weight, before it is rounded.
    value: Bounded,
    /// At least `(|q| + |zero|) * |scale|`: what products and sums of parts of it amount to.
    magnitude: f64,
    /// The same without the scale.
    unscaled: f64,
    /// The scale's magnitude.
    scale: f64,
    /// A power of two of which `q * scale` and `zero * scale` are multiples.
    grid: f64,
}

fn quantised(task: &TaskView<'_>, rows: &[Line<'_>], columns: Range<usize>, width: usize) -> Vec<Bounded> {
    let weights = quant::Weights::of(task, 1, width);
    let group = task.size(Param::Group);
    let groups = if weights.has_zeros() { width.div_ceil(group.max(1)) } else { 0 };
    let count = columns.len();
    let mut values = vec![Bounded::UNSPECIFIED; rows.len().saturating_mul(count)];
    for (offset, row) in columns.enumerate() {
        let row: Vec<Weight> = (0..width)
            .map(|column| weight(&weights, row, column, column.checked_div(group).unwrap_or(0)))
            .collect();
        for (index, &x) in rows.iter().enumerate() {
            if let Some(value) = values.get_mut(index * count + offset) {
                *value = product(x, &row, groups, task.unit);
            }
        }
    }
    values
}

fn weight(weights: &quant::Weights<'_>, row: usize, column: usize, group: usize) -> Weight {
    let (q, zero, scale) = (weights.q(row, column), weights.zero(row, group), weights.scale(row, group));
    let unscaled = q.abs() + zero.magnitude();
    let magnitude = unscaled * scale.magnitude();
    let grids = [q, zero.v].map(|part| if part == 0.0 { f64::INFINITY } else { lowest_bit(part) });
    let difference = Bounded { v: q - zero.v, e: zero.e };
    let mut value = difference.product(scale);
    // Infinite parts meet zeros in one arrangement and not in another.
    if !value.v.is_nan() && (magnitude.is_nan() || magnitude > LARGEST) {
        value = Bounded::UNSPECIFIED;
    }
    let grid = grids[0].min(grids[1]) * lowest_bit(scale.v);
    Weight { value, magnitude, unscaled, scale: scale.magnitude(), grid }
}

/// The weights may be formed first, or the groups of `x * q` and of x be summed first: that takes one addition
/// more for each group that has a zero, and roundings of the weight, its parts and the product.
fn product(x: Line<'_>, row: &[Weight], groups: usize, unit: f64) -> Bounded {
    let (mut sum, mut unscaled, mut underflow) = (Sum::new(), 0.0, 0.0);
    for (x, weight) in x.iter().zip(row) {
        let size = x.magnitude();
        let mut term = x.product(weight.value);
        if groups > 0 && x.v.is_infinite() {
            term = Bounded::UNSPECIFIED;
        }
        let grid = if x.v == 0.0 { f64::INFINITY } else { lowest_bit(x.v) * weight.grid };
        sum.push_as(term, size * weight.magnitude, grid);
        unscaled += size * weight.unscaled;
        underflow += size + weight.scale;
    }
    let is_exact = sum.is_exact();
    let value = sum.finish(unit, 3.0 + groups as f64);
    if is_exact || !value.v.is_finite() {
        return value;
    }
    // Sums of x * q come before the scale.
    if unscaled <= LARGEST { value.widened(2.0 * TINY * underflow) } else { Bounded::UNSPECIFIED }
}
