//! GEMM_TILE

use megakernel_ir::Param;

use super::{Task, gemv_tile};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let first = task.size_or_zero(Param::MOff)?;
    let rows = first..first.saturating_add(task.size(Param::MTile)?);
    gemv_tile::product(kernels, task, writer, rows)
}
