//! ATTENTION_COMBINE

use super::{Task, divide, part};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer, broken};
use crate::parts::Site;

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let length = task.input(0)?.last()?;
    let Some(head_dim) = length.checked_sub(2) else { return broken("a partial has less than 2 elements") };
    let partials = task.inputs.iter().take(kernels.partials(task.inputs.len()));
    let partials: Vec<&[f32]> = partials.map(|partial| partial.reals()).collect::<Result<_>>()?;
    for r in 0..divide(task.reals(0)?.len(), length)? {
        let rows: Vec<&[f32]> =
            partials.iter().map(|partial| part(partial, r * length, length)).collect::<Result<_>>()?;
        let tail = |row: &&[f32]| match row {
            [.., m, l] => kernels.partial_tail(f64::from(*m), f64::from(*l)),
            _ => (0.0, 0.0),
        };
        let tails: Vec<(f64, f64)> = rows.iter().map(tail).collect();
        let scores: Vec<f32> = tails.iter().map(|&(m, _)| m as f32).collect();
        let m = kernels.maximum(&scores);
        let weights: Vec<f32> =
            tails.iter().map(|&(m_p, l_p)| kernels.partial_weight(m_p, l_p, m) as f32).collect();
        let sums: Vec<f32> = tails.iter().map(|&(_, l)| l as f32).collect();
        let l = kernels.dot(Site::Partials, &weights, &sums);
        for d in 0..head_dim {
            let column: Vec<f32> = rows.iter().filter_map(|row| row.get(d)).copied().collect();
            let a = kernels.dot(Site::Partials, &weights, &column);
            writer.real(r * head_dim + d, kernels.merged(a, l));
        }
    }
    Ok(())
}
