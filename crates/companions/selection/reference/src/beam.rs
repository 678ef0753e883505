//! The beam (clause SEL-25).

use std::cmp::Ordering;
use std::sync::Arc;

use megakernel_selection::{Op, Rational, Reason, Sequence, Trigger};

use crate::automaton::{Automaton, Ready};
use crate::kernels::Kernels;
use crate::plan::Region;
use crate::stream::{Stuck, escaping, extended};

/// A list of closed regions, which states share.
#[derive(Clone)]
struct Closed {
    before: Option<Arc<Closed>>,
    anchor: usize,
    last: usize,
    ready: Ready,
    node: u32,
    /// Of all of them.
    cost: Arc<Rational>,
    regions: usize,
}

/// A state: what is closed, and the open region.
struct State {
    closed: Option<Arc<Closed>>,
    anchor: usize,
    node: u32,
}

/// The order in which states and plans are preferred: cost, regions, ends.
fn preferred(a: Option<&Arc<Closed>>, b: Option<&Arc<Closed>>) -> Ordering {
    let (Some(a), Some(b)) = (a, b) else {
        return a.is_some().cmp(&b.is_some());
    };
    let by_size = a.cost.cmp(&b.cost).then_with(|| a.regions.cmp(&b.regions));
    by_size.then_with(|| {
        // As many regions on both sides: the first end that differs is the one found last on the way back.
        let (mut a, mut b, mut order) = (Some(a), Some(b), Ordering::Equal);
        while let (Some(left), Some(right)) = (a, b) {
            if Arc::ptr_eq(left, right) {
                break;
            }
            if left.last != right.last {
                order = left.last.cmp(&right.last);
            }
            (a, b) = (left.before.as_ref(), right.before.as_ref());
        }
        order
    })
}

/// The plan of a beam of `width` states.
///
/// # Errors
/// Where no state is left.
pub fn beam(
    kernels: &Kernels,
    sequence: &Sequence,
    limit: usize,
    width: usize,
) -> Result<Vec<Region>, Stuck> {
    let ops = &*sequence.ops;
    let mut automaton = Automaton::new(kernels);
    let mut states: Vec<State> = Vec::new();
    let Some(first) = ops.first() else {
        return Ok(Vec::new());
    };
    states.extend(automaton.start(first).map(|node| State { closed: None, anchor: 0, node }));
    let stuck = |op| Stuck { op, begins: false };
    for (id, op) in ops.iter().enumerate().skip(1) {
        if states.is_empty() {
            return Err(stuck(id - 1));
        }
        let mut next: Vec<State> = Vec::new();
        // All that are cut here have the same anchor: only the best is left.
        let mut best: Option<Arc<Closed>> = None;
        for state in &states {
            let region = ops.get(state.anchor..id).unwrap_or_default();
            if let Ok(node) = extended(&mut automaton, state.node, region, Some(op), limit) {
                next.push(State { closed: state.closed.clone(), anchor: state.anchor, node });
            }
            if let Some(closed) = cut(&automaton, state, ops, id - 1)
                && best.as_ref().is_none_or(|best| preferred(Some(&closed), Some(best)) == Ordering::Less)
            {
                best = Some(closed);
            }
        }
        if let (Some(closed), Some(node)) = (best, automaton.start(op)) {
            next.push(State { closed: Some(closed), anchor: id, node });
        }
        if width < next.len() {
            next.sort_by(|a, b| preferred(a.closed.as_ref(), b.closed.as_ref()));
            next.truncate(width);
        }
        states = next;
    }
    let last = ops.len() - 1;
    let finished = states.iter().filter_map(|state| cut(&automaton, state, ops, last));
    let best = finished.min_by(|a, b| preferred(Some(a), Some(b))).ok_or(stuck(last))?;
    Ok(regions(&mut automaton, &best, ops, limit))
}

/// The regions of a state with its open one closed, if a kernel is complete for it.
fn cut(automaton: &Automaton<'_>, state: &State, ops: &[Op], last: usize) -> Option<Arc<Closed>> {
    let escaping = escaping(ops.get(state.anchor..=last)?, last);
    let ready = automaton.node(state.node)?.complete(&escaping).next()?.clone();
    let before = state.closed.as_deref();
    let cost =
        before.map_or_else(|| Arc::clone(&ready.cost), |before| Arc::new(before.cost.plus(&ready.cost)));
    let regions = before.map_or(0, |before| before.regions) + 1;
    let closed = Closed {
        before: state.closed.clone(),
        anchor: state.anchor,
        last,
        ready,
        node: state.node,
        cost,
        regions,
    };
    Some(Arc::new(closed))
}

fn regions(automaton: &mut Automaton<'_>, best: &Arc<Closed>, ops: &[Op], limit: usize) -> Vec<Region> {
    let mut regions = Vec::new();
    let mut at = Some(best);
    while let Some(closed) = at {
        let (anchor, last) = (closed.anchor, closed.last);
        let region = ops.get(anchor..=last).unwrap_or_default();
        let (trigger, reason): (Trigger, Option<Reason>) =
            match extended(automaton, closed.node, region, ops.get(last + 1), limit) {
                Ok(_) => (Trigger::Cut, None),
                Err(stopped) => stopped,
            };
        let matrix = automaton.node(closed.node).map(|node| Arc::clone(&node.matrix)).unwrap_or_default();
        regions.push(Region {
            anchor,
            last,
            kernel: closed.ready.kernel,
            trigger,
            reason,
            cost: Arc::clone(&closed.ready.cost),
            matrix,
            ops: region.iter().map(|op| Arc::clone(&op.rows)).collect(),
        });
        at = closed.before.as_ref();
    }
    regions.reverse();
    regions
}
