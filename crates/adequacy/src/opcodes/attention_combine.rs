//! ATTENTION_COMBINE

use super::{Task, divide, part};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer, broken};
use crate::parts::Attended;

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let length = task.input(0)?.last()?;
    let Some(head_dim) = length.checked_sub(2) else { return broken("a partial has less than 2 elements") };
    let partials = task.inputs.iter().take(kernels.partials(task.inputs.len()));
    let partials: Vec<&[f32]> = partials.map(|partial| partial.reals()).collect::<Result<_>>()?;
    for r in 0..divide(task.reals(0)?.len(), length)? {
        let mut row = Vec::with_capacity(partials.len());
        for partial in &partials {
            if let [a @ .., m, l] = part(partial, r * length, length)? {
                let (m, l) = kernels.partial_tail(f64::from(*m), f64::from(*l));
                row.push(Attended { a: a.iter().map(|&a| f64::from(a)).collect(), m, l });
            }
        }
        for (d, value) in kernels.combine(&row).into_iter().enumerate() {
            writer.real(r * head_dim + d, value);
        }
    }
    Ok(())
}
