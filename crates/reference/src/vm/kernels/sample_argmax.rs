//! SAMPLE_ARGMAX (clause OPC-17): the first index of the largest logit of each row.

use super::view::{Line, last};
use super::{Kernel, TaskView, Written};

pub(super) struct SampleArgmax;

pub(super) static KERNEL: SampleArgmax = SampleArgmax;

impl Kernel for SampleArgmax {
    fn run(&self, task: &TaskView<'_>) -> Written {
        Written::Ints(task.reals(0).rows(last(task.shape(0))).map(argmax).collect())
    }
}

/// Nothing where a logit is NaN, or where the errors of the logits leave the winner open. One logit wins, whatever it is.
fn argmax(logits: Line<'_>) -> Option<i64> {
    if logits.len() == 1 {
        return Some(0);
    }
    let mut best = 0;
    for (index, logit) in logits.iter().enumerate() {
        if logit.v.is_nan() || !logit.is_specified() {
            return None;
        }
        if logit.v > logits.at(best).v {
            best = index;
        }
    }
    let winner = logits.at(best);
    let loses = |(index, logit): (usize, crate::vm::bounded::Bounded)| {
        let (low, high) = (winner.v - winner.e, logit.v + logit.e);
        index == best || high < low || (high == low && index > best)
    };
    if logits.iter().enumerate().all(loses) { i64::try_from(best).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use crate::vm::kernels::testing::{Input, integers, reals};

    fn winners(task: &str, input: Input) -> Vec<Option<i64>> {
        integers(task, &[input])
    }

    #[test]
    fn the_first_of_equal_maxima_wins() {
        let logits = reals(&[1.0, 3.0, 3.0, -0.0, 0.0, -1.0]);
        assert_eq!(winners("SAMPLE_ARGMAX F32[2,3] -> I32[2]", logits), [Some(1), Some(0)]);
        let inf = f64::INFINITY;
        assert_eq!(winners("SAMPLE_ARGMAX F16[3] -> I32[]", reals(&[-inf, -inf, -inf])), [Some(0)]);
        assert_eq!(winners("SAMPLE_ARGMAX F16[3] -> I32[1]", reals(&[2.0, inf, inf])), [Some(1)]);
    }

    #[test]
    fn nan_leaves_the_row_open() {
        let logits = reals(&[1.0, f64::NAN, 2.0, 1.0]);
        assert_eq!(winners("SAMPLE_ARGMAX F32[2,2] -> I32[2,1]", logits), [None, Some(0)]);
        let logits = reals(&[f64::NAN, f64::INFINITY]);
        assert_eq!(winners("SAMPLE_ARGMAX F32[2,1] -> I32[2]", logits), [Some(0), Some(0)]);
    }

    #[test]
    fn so_do_errors_that_reach_the_winner() {
        let task = "SAMPLE_ARGMAX F32[3] -> I32[1]";
        let logits = |e: [f64; 3]| Input::Bounded(vec![1.0, 2.0, 1.5], e.to_vec());
        assert_eq!(winners(task, logits([0.5, 0.2, 0.2])), [Some(1)]);
        assert_eq!(winners(task, logits([0.5, 0.2, 0.4])), [None]);
        // The later of two is not chosen even if they are equal.
        assert_eq!(winners(task, logits([0.0, 0.25, 0.25])), [Some(1)]);
        assert_eq!(winners(task, logits([0.5, 0.5, 0.0])), [None]);
        assert_eq!(winners(task, logits([0.0, 0.0, f64::INFINITY])), [None]);
    }
}
