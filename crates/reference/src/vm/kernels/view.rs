//! How the kernels see their operands. Nothing here panics: what is out of range is empty, or zero.

use megakernel_ir::Param;

use super::{Data, TaskView};
use crate::vm::bounded::Bounded;

/// Some consecutive elements of an operand of a *float* dtype.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line<'a> {
    /// The stored values.
    pub values: &'a [f64],
    /// Their bounds; nothing if all are exact.
    pub bounds: Option<&'a [f64]>,
}

impl<'a> Line<'a> {
    /// Number of elements.
    pub fn len(self) -> usize {
        self.values.len()
    }

    /// An element.
    pub fn at(self, index: usize) -> Bounded {
        let v = self.values.get(index).copied().unwrap_or(0.0);
        match self.bounds {
            None => Bounded::exact(v),
            Some(bounds) => Bounded { v, e: bounds.get(index).copied().unwrap_or(0.0) },
        }
    }

    /// The elements.
    pub fn iter(self) -> impl Iterator<Item = Bounded> + 'a {
        (0..self.len()).map(move |index| self.at(index))
    }

    /// `length` elements from `start` on.
    pub fn slice(self, start: usize, length: usize) -> Line<'a> {
        let part = |all: &'a [f64]| all.get(start..start.saturating_add(length)).unwrap_or(&[]);
        Line { values: part(self.values), bounds: self.bounds.map(part) }
    }

    /// The row of this number, of `width` elements.
    pub fn row(self, row: usize, width: usize) -> Line<'a> {
        self.slice(row.saturating_mul(width), width)
    }

    /// All rows of `width` elements.
    pub fn rows(self, width: usize) -> impl Iterator<Item = Line<'a>> {
        let count = self.len().checked_div(width).unwrap_or(0);
        (0..count).map(move |row| self.row(row, width))
    }
}

impl<'a> TaskView<'a> {
    /// An input of a *float* dtype; empty if there is none.
    pub(super) fn reals(&self, input: usize) -> Line<'a> {
        match self.inputs.get(input).map(|operand| operand.data) {
            Some(Data::Reals { values, bounds }) => Line { values, bounds },
            _ => Line::default(),
        }
    }

    /// An input of another dtype; empty if there is none.
    pub(super) fn ints(&self, input: usize) -> &'a [i64] {
        match self.inputs.get(input).map(|operand| operand.data) {
            Some(Data::Ints(ints)) => ints,
            _ => &[],
        }
    }

    /// The extents of an input.
    pub(super) fn shape(&self, input: usize) -> &'a [i64] {
        self.inputs.get(input).map_or(&[], |operand| operand.shape)
    }

    /// An integer parameter, as a size or an index.
    pub(super) fn size(&self, param: Param) -> usize {
        extent(self.params.int(param).unwrap_or(0))
    }

    /// A real parameter: the binary32 nearest to the number in the document.
    pub(super) fn real(&self, param: Param, default: f64) -> f64 {
        f64::from(self.params.real(param).unwrap_or(default) as f32)
    }
}

/// An extent as a size.
pub(super) fn extent(extent: i64) -> usize {
    usize::try_from(extent).unwrap_or(0)
}

/// The last extent of a shape.
pub(super) fn last(shape: &[i64]) -> usize {
    shape.last().map_or(0, |&size| extent(size))
}

/// Index of an entry of a row of `width` entries. Out of range of everything where it is out of range of `usize`.
pub(super) fn index(row: usize, width: usize, entry: usize) -> usize {
    row.saturating_mul(width).saturating_add(entry)
}
