//! The beam and the optimum (clauses SEL-25 and SEL-26), with whole lists of regions in place of states.

use std::cmp::Ordering;
use std::sync::Arc;

use megakernel_selection::{Rational, Trigger};

use super::kernel::best as best_kernel;
use super::matrix::fold;
use super::walk::{Region, Stuck, attempt, begin};
use super::{Fault, Question};

#[derive(Clone)]
struct State {
    closed: Vec<Region>,
    anchor: usize,
}

fn cost(regions: &[Region]) -> Rational {
    regions.iter().fold(Rational::zero(), |sum, region| sum.plus(&region.cost))
}

fn order(question: &Question<'_>, a: &[Region], b: &[Region]) -> Ordering {
    let counts = a.len().cmp(&b.len());
    let counts = if question.is(Fault::BeamTie) { counts.reverse() } else { counts };
    let ends = a.iter().map(|region| region.last).cmp(b.iter().map(|region| region.last));
    let ends = if question.is(Fault::BeamEnds) { ends.reverse() } else { ends };
    cost(a).cmp(&cost(b)).then(counts).then(ends)
}

/// The regions of a state with its open one closed.
fn close(question: &Question<'_>, state: &State, last: usize) -> Option<Vec<Region>> {
    let matrix = fold(question, state.anchor, last).ok()?;
    let (kernel, cost) = best_kernel(question, state.anchor, last, &matrix)?;
    let (mut trigger, mut reason) =
        attempt(question, state.anchor, last).err().unwrap_or((Trigger::Cut, None));
    if question.is(Fault::BeamTrigger) && trigger != Trigger::End {
        (trigger, reason) = (Trigger::Cut, None);
    }
    let attrs = Arc::new(matrix);
    let mut regions = state.closed.clone();
    regions.push(Region {
        anchor: state.anchor,
        last,
        kernel: kernel.id.clone(),
        trigger,
        reason,
        cost,
        attrs,
    });
    Some(regions)
}

/// The plan of a beam.
pub fn beam(question: &Question<'_>) -> Result<Vec<Region>, Stuck> {
    let Some(last) = question.ops.len().checked_sub(1) else {
        return Ok(Vec::new());
    };
    let mut states: Vec<State> =
        begin(question, 0).map(|_| State { closed: Vec::new(), anchor: 0 }).into_iter().collect();
    if states.is_empty() {
        return Err(Stuck(0));
    }
    for op in 1..=last {
        let mut next = Vec::new();
        for state in &states {
            if attempt(question, state.anchor, op - 1).is_ok() {
                next.push(state.clone());
            }
            if let (Some(closed), Some(_)) = (close(question, state, op - 1), begin(question, op)) {
                next.push(State { closed, anchor: op });
            }
        }
        next.sort_by(|a, b| {
            if question.is(Fault::BeamOpen) {
                let open = |state: &State| {
                    let matrix = fold(question, state.anchor, op).ok();
                    let best = matrix.and_then(|matrix| best_kernel(question, state.anchor, op, &matrix));
                    cost(&state.closed).plus(&best.map(|(_, cost)| cost).unwrap_or_default())
                };
                return open(a).cmp(&open(b)).then_with(|| order(question, &a.closed, &b.closed));
            }
            order(question, &a.closed, &b.closed)
        });
        let mut seen = Vec::new();
        next.retain(|state| {
            let new = question.is(Fault::BeamUnmerged) || !seen.contains(&state.anchor);
            seen.push(state.anchor);
            new
        });
        if !question.is(Fault::BeamAlways) {
            next.truncate(question.beam);
        }
        states = next;
        if states.is_empty() {
            return Err(Stuck(op));
        }
    }
    let plans = states.iter().filter_map(|state| close(question, state, last));
    plans.min_by(|a, b| order(question, a, b)).ok_or(Stuck(last))
}

/// The plan of least cost of all, by trying every way to cut: for small sequences only.
pub fn best(question: &Question<'_>) -> Option<Vec<Region>> {
    fn from(question: &Question<'_>, closed: &[Region], anchor: usize) -> Vec<Vec<Region>> {
        if anchor == question.ops.len() {
            return vec![closed.to_vec()];
        }
        let mut found = Vec::new();
        if begin(question, anchor).is_none() {
            return found;
        }
        let mut last = anchor;
        loop {
            let state = State { closed: closed.to_vec(), anchor };
            if let Some(regions) = close(question, &state, last) {
                found.extend(from(question, &regions, last + 1));
            }
            if attempt(question, anchor, last).is_err() {
                return found;
            }
            last += 1;
        }
    }
    from(question, &[], 0).into_iter().min_by(|a, b| order(question, a, b))
}
