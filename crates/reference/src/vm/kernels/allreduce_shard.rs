//! ALLREDUCE_SHARD (clause OPC-15): the sum of one to eight shards.

use super::{Kernel, TaskView, Written, add, elementwise};
use crate::vm::bounded::UNIT;
use crate::vm::sum::Sum;

pub(super) struct AllreduceShard;

pub(super) static KERNEL: AllreduceShard = AllreduceShard;

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

#[cfg(test)]
mod tests {
    use crate::vm::kernels::testing::{FAMILIES, Random, Shares, assert_exact, bounded, reals};

    #[test]
    fn small_integers_add_up_exactly() {
        let shards: Vec<_> = (0..8).map(|shard| reals(&[f64::from(shard), -1.0])).collect();
        assert_exact(
            "ALLREDUCE_SHARD F32[2] F32[2] F32[2] F32[2] F32[2] F32[2] F32[2] F32[2] -> F16[2]",
            &shards,
            &[28.0, -8.0],
        );
        assert_exact("ALLREDUCE_SHARD F32[2] -> F16[2]", &shards[3..4], &[3.0, -1.0]);
        assert_exact("ALLREDUCE_SHARD F32[2] F32[2] -> F32[2]", &shards[3..5], &[7.0, -2.0]);
    }

    #[test]
    fn special_values() {
        let inf = f64::INFINITY;
        let shards = [[inf, inf, 1.0], [1.0, -inf, f64::NAN], [2.0, 0.0, inf]].map(|shard| reals(&shard));
        let task = "ALLREDUCE_SHARD F32[3] F32[3] F32[3] -> F32[3]";
        assert_exact(task, &shards, &[inf, f64::NAN, f64::NAN]);
    }

    #[test]
    fn a_partial_sum_that_may_overflow_leaves_the_result_open() {
        let large = f64::from(f32::MAX);
        let shards = [[large], [large], [-large]].map(|shard| reals(&shard));
        let value = bounded("ALLREDUCE_SHARD F32[1] F32[1] F32[1] -> F32[1]", &shards)[0];
        assert!(!value.is_specified());
    }

    #[test]
    fn binary32_stays_within_the_bound() {
        let mut shares = Shares::default();
        for seed in 0..200 {
            let mut random = Random::new(seed);
            for family in FAMILIES {
                let count = 1 + random.below(8);
                let samples: Vec<_> = (0..count).map(|_| random.sample(family, 8)).collect();
                let inputs: Vec<_> = samples.iter().map(|sample| sample.input.clone()).collect();
                let values =
                    bounded(&format!("ALLREDUCE_SHARD {} -> BF16[8]", "F32[8] ".repeat(count)), &inputs);
                let shard = |index: usize| samples.iter().map(|sample| sample.actual[index]).collect();
                let found: Vec<f32> = (0..8).map(|index| random.sum(shard(index))).collect();
                shares.judge(&random, &values, &found, &family);
            }
        }
        shares.assert_tight("ALLREDUCE_SHARD", 0.9);
    }
}
