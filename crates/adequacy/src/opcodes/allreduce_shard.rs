//! ALLREDUCE_SHARD

use super::{Task, elementwise};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer, broken};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let shards: Vec<&[f32]> = task.inputs.iter().map(|shard| shard.reals()).collect::<Result<_>>()?;
    if shards.iter().any(|shard| shard.len() != task.numel()) {
        return broken("shards and output differ in their number of elements");
    }
    elementwise(kernels, task, writer, |i| {
        let terms: Vec<f32> = shards.iter().filter_map(|shard| shard.get(i)).copied().collect();
        Ok(kernels.all_reduce(&terms, task.dtype))
    })
}
