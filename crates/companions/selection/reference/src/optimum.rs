//! The plan of least cost of all (clause SEL-26): for each end the best way to get there, from the best ways to the ends before.
//! A yardstick for walk and beam, and independent of the latter.

use std::cmp::Ordering;

use megakernel_selection::{Op, Rational, Reason, Sequence, Trigger};

use crate::automaton::{Automaton, Ready};
use crate::kernels::Kernels;
use crate::plan::Region;
use crate::stream::{Stuck, escaping, extended};

/// The best plan of the ops before some end, which is the last of its regions.
struct Way {
    cost: Rational,
    regions: usize,
    anchor: usize,
    ready: Ready,
    node: u32,
}

/// The plan of least cost; of equal ones that with fewer regions, then that of which the list of ends comes first.
///
/// # Errors
/// Where no plan exists: at the first op that the plans of no prefix cover.
pub fn optimum(kernels: &Kernels, sequence: &Sequence, limit: usize) -> Result<Vec<Region>, Stuck> {
    let ops = &*sequence.ops;
    let mut automaton = Automaton::new(kernels);
    // The way to each number of ops.
    let mut ways: Vec<Option<Way>> = std::iter::repeat_with(|| None).take(ops.len() + 1).collect();
    for anchor in 0..ops.len() {
        if anchor > 0 && ways.get(anchor).is_none_or(Option::is_none) {
            continue;
        }
        let mut at = ops.get(anchor).and_then(|op| automaton.start(op));
        let mut last = anchor;
        while let Some(node) = at {
            let region = ops.get(anchor..=last).unwrap_or_default();
            let lost = escaping(region, last);
            let ready = automaton.node(node).and_then(|node| node.complete(&lost).next().cloned());
            if let Some(ready) = ready {
                offer(&mut ways, anchor, last + 1, ready, node);
            }
            at = extended(&mut automaton, node, region, ops.get(last + 1), limit).ok();
            last += 1;
        }
    }
    let mut regions = Vec::new();
    let mut end = ops.len();
    while end > 0 {
        let Some(Some(way)) = ways.get(end) else {
            let reached = ways.iter().rposition(Option::is_some).unwrap_or(0);
            return Err(Stuck { op: reached, begins: false });
        };
        regions.push(region(&mut automaton, way, ops, end - 1, limit));
        end = way.anchor;
    }
    regions.reverse();
    Ok(regions)
}

/// Takes the way by this region if it is better than what is there.
fn offer(ways: &mut [Option<Way>], anchor: usize, end: usize, ready: Ready, node: u32) {
    let before = ways.get(anchor).and_then(Option::as_ref);
    let cost = before.map_or_else(|| (*ready.cost).clone(), |before| before.cost.plus(&ready.cost));
    let regions = before.map_or(0, |before| before.regions) + 1;
    let better = match ways.get(end).and_then(Option::as_ref) {
        None => true,
        Some(old) => {
            let order = cost.cmp(&old.cost).then(regions.cmp(&old.regions));
            order.then_with(|| ends(ways, anchor).cmp(&ends(ways, old.anchor))) == Ordering::Less
        }
    };
    if let (true, Some(way)) = (better, ways.get_mut(end)) {
        *way = Some(Way { cost, regions, anchor, ready, node });
    }
}

/// The ends of the regions of the way to an end.
fn ends(ways: &[Option<Way>], mut end: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    while let Some(Some(way)) = ways.get(end) {
        ends.push(end);
        end = way.anchor;
    }
    ends.reverse();
    ends
}

fn region(automaton: &mut Automaton<'_>, way: &Way, ops: &[Op], last: usize, limit: usize) -> Region {
    let covered = ops.get(way.anchor..=last).unwrap_or_default();
    let (trigger, reason): (Trigger, Option<Reason>) =
        extended(automaton, way.node, covered, ops.get(last + 1), limit)
            .err()
            .unwrap_or((Trigger::Cut, None));
    let matrix = automaton.node(way.node).map(|node| node.matrix.clone()).unwrap_or_default();
    Region {
        anchor: way.anchor,
        last,
        kernel: way.ready.kernel,
        trigger,
        reason,
        cost: way.ready.cost.clone(),
        matrix,
        ops: covered.iter().map(|op| op.rows.clone()).collect(),
    }
}
