//! GELU

use super::{Task, at, elementwise};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let x = task.reals(0)?;
    elementwise(kernels, task, writer, |i| Ok(kernels.gelu(at(x, i)?)))
}
