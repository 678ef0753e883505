//! DEQUANT

use super::quantised::Quantised;
use super::{Task, divide};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer, broken};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let Some(&columns) = task.shape.last() else { return broken("output has rank 0, required at least 1") };
    let quantised = Quantised::new(kernels, task, 0, columns)?;
    for r in 0..divide(task.numel(), columns)? {
        let q = quantised.integers(kernels, r)?;
        for (k, weight) in kernels.weights(&quantised.row(&q, r)?).into_iter().enumerate() {
            writer.real(r * columns + k, weight);
        }
    }
    Ok(())
}
