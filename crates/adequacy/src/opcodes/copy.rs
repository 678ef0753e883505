//! COPY

use super::{Task, at, elementwise};
use crate::kernels::Kernels;
use crate::memory::{Elements, Result, Writer, broken};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    match &task.input(0)?.elements {
        Elements::Reals(x) => elementwise(kernels, task, writer, |i| at(x, i)),
        Elements::Ints(x) => {
            if x.len() != task.numel() {
                return broken("operand and output differ in their number of elements");
            }
            for (i, &element) in x.iter().enumerate().take(kernels.elements(x.len())) {
                writer.int(i, element);
            }
            Ok(())
        }
    }
}
