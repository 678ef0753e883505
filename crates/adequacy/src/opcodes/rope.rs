//! ROPE

use megakernel_ir::Param;

use super::{Task, at, divide};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer, broken};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let (x, positions) = (task.reals(0)?, task.input(1)?.ints()?);
    let theta = task.real(Param::Theta)?;
    let (head_dim, heads) = match *task.shape.as_slice() {
        [heads, head_dim] | [_, heads, head_dim] => (head_dim, heads),
        _ => return broken("x is not of rank 2 or 3"),
    };
    let half = head_dim / 2;
    let frequencies: Vec<f64> = (0..half).map(|i| kernels.rope_frequency(theta, i, half)).collect();
    for s in 0..divide(x.len(), heads * head_dim)? {
        for h in 0..heads {
            let head = (s * heads + h) * head_dim;
            let position = kernels.rope_position(positions, s, h);
            for (i, &frequency) in frequencies.iter().enumerate() {
                let (sin, cos) = kernels.sin_cos(kernels.rope_angle(position, frequency));
                let (first, second) = kernels.rope_pair(i, half);
                let (a, b) = kernels.rotate(at(x, head + first)?, at(x, head + second)?, sin, cos);
                writer.real(head + first, a);
                writer.real(head + second, b);
            }
        }
    }
    Ok(())
}
