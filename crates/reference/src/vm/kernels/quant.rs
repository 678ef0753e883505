//! Quantised weights, of which GEMV_TILE, GEMM_TILE and DEQUANT have one each.

use megakernel_ir::DType;

use super::view::{Line, index, last};
use super::{Data, TaskView};
use crate::vm::bounded::Bounded;

/// A quantised weight with its scales and zeros: rows of `width` integers.
pub(super) struct Weights<'a> {
    ints: &'a [i64],
    dtype: DType,
    width: usize,
    groups: usize,
    scales: Line<'a>,
    zeros: Option<Data<'a>>,
}

impl<'a> Weights<'a> {
    /// The weight that is this input; the scales and the zeros come after it.
    pub fn of(task: &TaskView<'a>, input: usize, width: usize) -> Weights<'a> {
        let scales = input.saturating_add(1);
        let zeros = task.inputs.get(input.saturating_add(2)).map(|zeros| zeros.data);
        Weights {
            ints: task.ints(input),
            dtype: task.inputs.get(input).map_or(DType::I8, |q| q.dtype),
            width,
            groups: last(task.shape(scales)),
            scales: task.reals(scales),
            zeros,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        let weights =
            if self.dtype == DType::U8 { self.ints.len().saturating_mul(2) } else { self.ints.len() };
        weights.checked_div(self.width).unwrap_or(0)
    }

    /// Whether there are zeros.
    pub fn has_zeros(&self) -> bool {
        self.zeros.is_some()
    }

    /// The integer that a weight stands for.
    pub fn q(&self, row: usize, column: usize) -> f64 {
        let index = index(row, self.width, column);
        let stored = |index| self.ints.get(index).copied().unwrap_or(0);
        let q = match self.dtype {
            // Two to a byte, the even column in the low nibble.
            DType::U8 if index.is_multiple_of(2) => (stored(index / 2) & 15).wrapping_sub(8),
            DType::U8 => ((stored(index / 2) >> 4) & 15).wrapping_sub(8),
            DType::I4 => stored(index).wrapping_sub(8),
            _ => stored(index),
        };
        q as f64
    }

    /// The scale of a group of a row.
    pub fn scale(&self, row: usize, group: usize) -> Bounded {
        self.scales.at(index(row, self.groups, group))
    }

    /// The zero of a group of a row; 0 if there are none.
    pub fn zero(&self, row: usize, group: usize) -> Bounded {
        let index = index(row, self.groups, group);
        match self.zeros {
            None => Bounded::ZERO,
            Some(Data::Reals { values, bounds }) => Line { values, bounds }.at(index),
            Some(Data::Ints(ints)) => Bounded::exact(ints.get(index).copied().unwrap_or(0) as f64),
        }
    }

    /// `q - zero`, rounded once.
    pub fn difference(&self, row: usize, column: usize, group: usize) -> Bounded {
        Bounded::exact(self.q(row, column)) - self.zero(row, group)
    }
}
