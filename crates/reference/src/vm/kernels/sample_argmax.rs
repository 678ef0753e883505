//! SAMPLE_ARGMAX (clause OPC-17): the first index of the largest logit of each row.

use super::view::{Line, last};
use super::{Kernel, TaskView, Written};

pub(super) struct SampleArgmax;

impl Kernel for SampleArgmax {
    fn run(&self, task: &TaskView<'_>) -> Written {
        Written::Ints(task.reals(0).rows(last(task.shape(0))).map(argmax).collect())
    }
}

/// Nothing where a logit is NaN, or where the errors of the logits leave the winner open.
fn argmax(logits: Line<'_>) -> Option<i64> {
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
