//! ALLREDUCE_SHARD (clause OPC-15): the sum of one to eight shards.

use super::{Kernel, TaskView, Written, add, elementwise};
use crate::vm::bounded::UNIT;
use crate::vm::sum::Sum;

pub(super) struct AllreduceShard;

impl Kernel for AllreduceShard {
    fn run(&self, task: &TaskView<'_>) -> Written {
        let shards: Vec<_> = (0..task.inputs.len()).map(|shard| task.reals(shard)).collect();
        match shards.len() {
            1 => elementwise::map(task, |x| x),
            2 => elementwise::zip(task, |a, b| add::sum(task, a, b)),
            _ => {
                let elements = shards.first().map_or(0, |shard| shard.len());
                let sum = |index| Sum::of(shards.iter().map(|shard| shard.at(index)), UNIT);
                Written::Reals((0..elements).map(sum).collect())
            }
        }
    }
}
