//! ADD

use super::{Task, at, elementwise};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let (a, b) = (task.reals(0)?, task.reals(1)?);
    elementwise(kernels, task, writer, |i| Ok(kernels.sum_of_two(at(a, i)?, at(b, i)?, task.dtype)))
}
