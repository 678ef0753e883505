//! RMSNORM

use megakernel_ir::Param;

use super::{Task, at, divide, part};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let (x, w) = (task.reals(0)?, task.reals(1)?);
    let (hidden, eps) = (task.size(Param::Hidden)?, task.real(Param::Eps)?);
    for r in 0..divide(x.len(), hidden)? {
        let seen = kernels.rms_rows(x, r, hidden);
        let factor = kernels.rms_factor(kernels.mean_square(seen), eps, seen.len());
        for (i, &x) in part(x, r * hidden, hidden)?.iter().enumerate() {
            let element = kernels.rms_element(f64::from(x), factor, at(w, i)?, task.dtype);
            writer.real(r * hidden + i, element);
        }
    }
    Ok(())
}
