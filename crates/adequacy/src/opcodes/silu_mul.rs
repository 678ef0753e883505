//! SILU_MUL

use super::{Task, at, elementwise};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let (gate, up) = (task.reals(0)?, task.reals(1)?);
    elementwise(kernels, task, writer, |i| Ok(kernels.silu_mul(at(gate, i)?, at(up, i)?, task.dtype)))
}
