//! MUL

use megakernel_ir::Param;

use super::{Task, at, elementwise};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let a = task.reals(0)?;
    let scale = task.params.get(Param::Scale).map(|_| task.real(Param::Scale)).transpose()?;
    if task.inputs.len() > 1 {
        let b = task.reals(1)?;
        elementwise(kernels, task, writer, |i| Ok(kernels.product_of_two(at(a, i)?, at(b, i)?, scale)))
    } else {
        elementwise(kernels, task, writer, |i| Ok(kernels.scaled(at(a, i)?, scale.unwrap_or(1.0))))
    }
}
