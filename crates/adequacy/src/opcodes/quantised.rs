//! Integer weights with scales per group, shared by GEMV_TILE, GEMM_TILE and DEQUANT.

use megakernel_ir::{DType, Param};

use super::{Task, part};
use crate::kernels::Kernels;
use crate::memory::{Buffer, Elements, Result, broken};
use crate::parts::QuantisedRow;

/// The operands of a quantised weight.
pub struct Quantised<'a> {
    stored: &'a Buffer,
    four_bits: bool,
    scales: &'a [f32],
    zeros: Option<Vec<f32>>,
    columns: usize,
    group: usize,
    groups: usize,
}

impl<'a> Quantised<'a> {
    /// Operands `first`, `first + 1` and perhaps `first + 2` of a task, with rows of `columns`.
    pub fn new(
        kernels: &dyn Kernels,
        task: &'a Task<'_>,
        first: usize,
        columns: usize,
    ) -> Result<Quantised<'a>> {
        let group = task.size(Param::Group)?;
        if group == 0 {
            return broken("parameter `group` is 0");
        }
        let zeros = match task.inputs.get(first + 2) {
            None => None,
            Some(Buffer { dtype, elements: Elements::Ints(ints), .. }) => {
                Some(ints.iter().map(|&zero| kernels.zero(*dtype, zero)).collect())
            }
            Some(zeros) => Some(zeros.reals()?.to_vec()),
        };
        Ok(Quantised {
            stored: task.input(first)?,
            four_bits: task.size(Param::QDType)? == usize::from(DType::I4.code()),
            scales: task.reals(first + 1)?,
            zeros,
            columns,
            group,
            groups: columns.div_ceil(group),
        })
    }

    /// The integers of row `r`.
    pub fn integers(&self, kernels: &dyn Kernels, r: usize) -> Result<Vec<f32>> {
        let stored = self.stored.ints()?;
        let k = self.columns;
        if !self.four_bits {
            return Ok(part(stored, r * k, k)?.iter().map(|&q| kernels.i8(q as i8)).collect());
        }
        // Two to a byte, whatever dtype the buffer says.
        let bytes: Vec<u8> = if self.stored.dtype == DType::I4 {
            let byte = |pair: &[i64]| match *pair {
                [low, high] => low as u8 | (high as u8) << 4,
                _ => 0,
            };
            part(stored, r * k, k)?.chunks_exact(2).map(byte).collect()
        } else {
            part(stored, r * (k / 2), k / 2)?.iter().map(|&byte| byte as u8).collect()
        };
        let nibble = |column: usize| bytes.get(column / 2).map(|&byte| kernels.nibble(byte, column));
        Ok((0..k).filter_map(nibble).map(|nibble| kernels.i4(nibble, self.zeros.is_some())).collect())
    }

    /// Row `r`, whose integers are `q`.
    pub fn row<'r>(&'r self, q: &'r [f32], r: usize) -> Result<QuantisedRow<'r>> {
        let (start, len) = (r * self.groups, self.groups);
        let zeros = self.zeros.as_deref().map(|zeros| part(zeros, start, len)).transpose()?;
        Ok(QuantisedRow { q, scales: part(self.scales, start, len)?, zeros, group: self.group })
    }
}
