//! KV_APPEND

use megakernel_ir::Param;

use super::{Task, divide, part};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer, broken};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let new = task.reals(0)?;
    let pos = task.size(Param::Pos)?;
    let mut put = |at: usize, row: &[f32]| {
        for (i, &element) in row.iter().enumerate() {
            writer.real(at * row.len() + i, f64::from(element));
        }
    };
    match *task.shape.as_slice() {
        [_, heads, head_dim] => {
            let row = heads * head_dim;
            let n = divide(new.len(), row)?;
            for i in 0..kernels.append_rows(n) {
                put(kernels.append_row(pos, i, n), part(new, i * row, row)?);
            }
            Ok(())
        }
        [sequences, max_seq, heads, head_dim] => {
            let row = heads * head_dim;
            for b in 0..sequences {
                let sequence = kernels.append_sequence(b, sequences);
                put(sequence * max_seq + kernels.append_row(pos, 0, 1), part(new, b * row, row)?);
            }
            Ok(())
        }
        _ => broken("cache is not of rank 3 or 4"),
    }
}
