//! EMBED

use megakernel_ir::Param;

use super::{Task, divide};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let (ids, table) = (task.input(0)?.ints()?, task.reals(1)?);
    let vocab = task.input(1)?.extent(0)?;
    let width = divide(table.len(), vocab)?;
    let stride = kernels.table_width(width, task.size(Param::Hidden)?);
    for (j, &id) in ids.iter().enumerate() {
        let row = usize::try_from(kernels.table_row(id)).unwrap_or_default();
        for h in 0..width {
            // An id outside the table is a fault of the input; the row is whatever.
            let element =
                table.get(row.saturating_mul(stride).saturating_add(h)).copied().unwrap_or_default();
            writer.real(j * width + h, f64::from(element));
        }
    }
    Ok(())
}
