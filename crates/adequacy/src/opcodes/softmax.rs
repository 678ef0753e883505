//! SOFTMAX

use megakernel_ir::Param;

use super::Task;
use crate::kernels::Kernels;
use crate::memory::{Result, Writer, broken};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let x = task.reals(0)?;
    let shape = &task.input(0)?.shape;
    let axis = kernels.axis(task.params.int(Param::Dim).unwrap_or(-1), shape.len());
    let Some(&extent) = shape.get(axis) else { return broken("parameter `dim` names no axis") };
    let inner: usize = shape.iter().skip(axis + 1).product();
    let outer: usize = shape.iter().take(axis).product();
    for o in 0..outer {
        for i in 0..inner {
            let place = |j: usize| (o * extent + j) * inner + i;
            let line: Vec<f32> = (0..extent).filter_map(|j| x.get(place(j))).copied().collect();
            for (j, value) in kernels.softmax(&line, x).into_iter().enumerate() {
                writer.real(place(j), value);
            }
        }
    }
    Ok(())
}
