//! LAYERNORM

use megakernel_ir::Param;

use super::{Task, at, divide, part};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer};
use crate::parts::Moments;

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let (x, w) = (task.reals(0)?, task.reals(1)?);
    let b = if task.inputs.len() > 2 { Some(task.reals(2)?) } else { None };
    let (hidden, eps) = (task.size(Param::Hidden)?, task.real(Param::Eps)?);
    // A buffer of rank 0 is a run of one element.
    let last = task.input(0)?.shape.last().copied().unwrap_or(1);
    let length = kernels.layer_run(hidden, last);
    for r in 0..divide(x.len(), length)? {
        let run = part(x, r * length, length)?;
        let mean = kernels.mean(run);
        let moments = Moments { mean, variance: kernels.variance(run, mean), eps };
        for (i, &x) in run.iter().enumerate() {
            let place = r * length + i;
            let (w, b) = (at(w, place % hidden)?, b.map(|b| at(b, place % hidden)).transpose()?);
            writer.real(place, kernels.layer_value(f64::from(x), moments, w, b, task.dtype));
        }
    }
    Ok(())
}
