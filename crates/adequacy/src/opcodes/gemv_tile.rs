//! GEMV_TILE, and the product that it shares with GEMM_TILE.

use std::ops::Range;

use megakernel_ir::Param;

use super::quantised::Quantised;
use super::{Task, at, divide, part};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let rows = divide(task.reals(0)?.len(), task.size(Param::K)?)?;
    product(kernels, task, writer, 0..rows)
}

/// Rows `rows` of the product, at the columns of the task's tile.
pub fn product(
    kernels: &dyn Kernels,
    task: &Task<'_>,
    writer: &mut Writer<'_>,
    rows: Range<usize>,
) -> Result<()> {
    let x = task.reals(0)?;
    let k = task.size(Param::K)?;
    let (n_off, n_tile) = (task.size(Param::NOff)?, task.size(Param::NTile)?);
    let width = task.shape.last().copied().unwrap_or_default();
    let tiles = kernels.k_tiles(k);
    let quantised = match task.params.get(Param::QDType) {
        Some(_) => Some(Quantised::new(kernels, task, 1, k)?),
        None => None,
    };
    let bias = if quantised.is_none() && task.inputs.len() > 2 { Some(task.reals(2)?) } else { None };
    for (column, n) in kernels.columns(n_off, n_tile).zip(n_off..) {
        let r = kernels.weight_row(n, n_off);
        let integers = quantised.as_ref().map(|quantised| quantised.integers(kernels, r)).transpose()?;
        let expanded: Vec<f32>;
        let (w, row) = match (&quantised, &integers) {
            (Some(quantised), Some(q)) => {
                let row = quantised.row(q, r)?;
                expanded = kernels.weights(&row).into_iter().map(|weight| weight as f32).collect();
                (expanded.as_slice(), Some(row))
            }
            _ => (part(task.reals(1)?, r * k, k)?, None),
        };
        for m in rows.clone() {
            let x = part(x, kernels.x_row(m, rows.start) * k, k)?;
            let sum = match (&row, bias) {
                (Some(row), _) => kernels.quantised_product(&tiles, x, w, row),
                (None, None) => kernels.product(&tiles, x, w),
                (None, Some(bias)) => {
                    let bias = at(bias, kernels.bias_index(n, n_off))?;
                    kernels.biased_product(&tiles, x, w, bias, task.dtype)
                }
            };
            writer.real(m * width + column, sum);
        }
    }
    Ok(())
}
