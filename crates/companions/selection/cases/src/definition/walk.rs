//! The walk with one state (clauses SEL-18 to SEL-24).

use std::sync::Arc;

use megakernel_selection::{Flag, Kernel, Rational, Reason, Trigger};
use serde_json::{Value, json};

use super::kernel::{best, complete, viable};
use super::matrix::{Matrix, fold};
use super::{Fault, Question, beam};

/// A closed region.
#[derive(Clone, Debug)]
pub struct Region {
    /// First op.
    pub anchor: usize,
    /// Last op.
    pub last: usize,
    /// Id of its kernel.
    pub kernel: String,
    /// What stopped its growth.
    pub trigger: Trigger,
    /// The reason of the trigger.
    pub reason: Option<Reason>,
    /// The cost.
    pub cost: Rational,
    /// Its matrix.
    pub attrs: Arc<Matrix>,
}

/// There is no plan: the op that no kernel takes, or the anchor of a region that none completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck(pub usize);

/// An attempt of the walk.
#[derive(Clone, Debug)]
pub enum Attempt {
    /// The op joined the region from the anchor on.
    Joined {
        /// First op.
        anchor: usize,
        /// The op.
        op: usize,
    },
    /// A region was closed, which had grown as far as `grown`.
    Flushed {
        /// The op that was not taken.
        op: Option<usize>,
        /// The region.
        region: Region,
        /// Its last extent.
        grown: usize,
    },
}

/// What stops the region from taking op `next`, if anything does; otherwise its matrix then.
pub fn attempt(
    question: &Question<'_>,
    anchor: usize,
    last: usize,
) -> Result<Matrix, (Trigger, Option<Reason>)> {
    let is = |fault| question.is(fault);
    let next = last + 1;
    let Some(op) = question.ops.get(next) else {
        return Err((Trigger::End, None));
    };
    let barrier = |at: usize| {
        question.ops.get(at).is_some_and(|op| op.rows.flags.contains(&Flag::Barrier))
            && !is(Fault::BarrierIgnored)
    };
    let marked = match op.marker {
        _ if is(Fault::SyncIgnored) => false,
        Some(megakernel_selection::Marker::Join) if is(Fault::JoinIgnored) => false,
        _ if is(Fault::SyncAfter) => question.ops.get(last).is_some_and(|op| op.marker.is_some()),
        _ if is(Fault::JoinEverywhere) => {
            let written = |value: &&u32| {
                question.ops.iter().any(|op| op.writes.iter().any(|write| write.value == **value))
            };
            op.marker.is_some() || op.reads.iter().filter(written).count() > 1
        }
        marker => marker.is_some(),
    };
    let mut limit = question.limit;
    if is(Fault::LimitLess) {
        limit = (limit - 1).max(1);
    }
    if is(Fault::LimitMore) {
        limit += 1;
    }
    let barrier = barrier(next) || (barrier(last) && !is(Fault::BarrierJoins));
    let mut triggers =
        vec![(Trigger::Barrier, barrier), (Trigger::Sync, marked), (Trigger::Limit, next - anchor >= limit)];
    if is(Fault::LimitFirst) {
        triggers.rotate_right(1);
    }
    if is(Fault::SyncFirst) {
        triggers.swap(0, 1);
    }
    let composed = fold(question, anchor, next);
    if is(Fault::ComposeFirst)
        && let Err(reason) = &composed
    {
        return Err((Trigger::Compose, Some(*reason)));
    }
    if let Some((trigger, _)) = triggers.into_iter().find(|(_, holds)| *holds) {
        return Err((trigger, None));
    }
    let matrix = composed.map_err(|reason| (Trigger::Compose, Some(reason)))?;
    let candidates = candidates(question, anchor, next, &matrix);
    if candidates.is_empty() {
        let trigger = if is(Fault::EmptyIsCompose) { Trigger::Compose } else { Trigger::Empty };
        return Err((trigger, Some(Reason::NoViableKernel)));
    }
    Ok(matrix)
}

fn candidates<'a>(question: &Question<'a>, anchor: usize, last: usize, matrix: &Matrix) -> Vec<&'a Kernel> {
    if let Some(table) = question.table {
        return table.candidates(question, anchor, last, matrix);
    }
    let all = 0..question.index.kernels.len();
    let found = found_anew(question, anchor, last, matrix, all).into_iter();
    found.filter_map(|at| question.index.kernels.get(at)).collect()
}

/// Which of these kernels are candidates.
pub fn found_anew(
    question: &Question<'_>,
    anchor: usize,
    last: usize,
    matrix: &Matrix,
    among: impl Iterator<Item = usize>,
) -> Vec<usize> {
    let keeps = |kernel: &&Kernel| {
        if question.is(Fault::ExactOnly) {
            complete(question, kernel, anchor, last, matrix).is_some()
        } else {
            viable(question, kernel, anchor, last, matrix)
        }
    };
    among.filter(|&at| question.index.kernels.get(at).as_ref().is_some_and(&keeps)).collect()
}

/// The matrix of a region of one op, if a kernel is viable for it.
pub fn begin(question: &Question<'_>, op: usize) -> Option<Matrix> {
    let matrix = fold(question, op, op).ok()?;
    (!candidates(question, op, op, &matrix).is_empty()).then_some(matrix)
}

struct Checkpoint<'a> {
    end: usize,
    kernel: &'a Kernel,
    cost: Rational,
    matrix: Matrix,
}

/// The walk: every attempt of it.
pub fn attempts(question: &Question<'_>) -> Result<Vec<Attempt>, Stuck> {
    question.table.inspect(|table| table.prepare(question));
    let is = |fault| question.is(fault);
    let mut found = Vec::new();
    let mut anchor = 0;
    // A trigger that a faulty selector keeps.
    let mut kept: Option<(Trigger, Option<Reason>, usize)> = None;
    let mut before: Option<Reason> = None;
    while anchor < question.ops.len() {
        let mut matrix = begin(question, anchor).ok_or(Stuck(anchor))?;
        let mut last = anchor;
        let mut checkpoint: Option<Checkpoint<'_>> = None;
        let (mut trigger, mut reason) = loop {
            found.push(Attempt::Joined { anchor, op: last });
            if let Some((kernel, cost)) = best(question, anchor, last, &matrix) {
                let keep = match &checkpoint {
                    None => true,
                    Some(_) if is(Fault::CheckpointFirst) => false,
                    Some(old) if is(Fault::CheckpointCheapest) => cost < old.cost,
                    Some(_) => true,
                };
                if keep {
                    checkpoint = Some(Checkpoint { end: last, kernel, cost, matrix: matrix.clone() });
                }
            } else if is(Fault::NoCheckpoint) {
                checkpoint = None;
            }
            match attempt(question, anchor, last) {
                Ok(longer) => (matrix, last) = (longer, last + 1),
                Err(stopped) => break stopped,
            }
        };
        let checkpoint = checkpoint.ok_or(Stuck(anchor))?;
        if is(Fault::RewindTrigger) {
            match kept {
                Some((old, why, until)) if anchor <= until => (trigger, reason) = (old, why),
                _ => kept = Some((trigger, reason, last)),
            }
        }
        if is(Fault::ReasonAtEnd) && trigger == Trigger::End {
            reason = before;
        }
        before = reason;
        let next = last + 1;
        let shown = match () {
            () if is(Fault::AttrsAtLast) => fold(question, anchor, last).unwrap_or(checkpoint.matrix),
            () if is(Fault::AttrsComposed) && reason == Some(Reason::NoViableKernel) => {
                fold(question, anchor, next).unwrap_or(checkpoint.matrix)
            }
            () => checkpoint.matrix,
        };
        let region = Region {
            anchor,
            last: checkpoint.end,
            kernel: checkpoint.kernel.id.clone(),
            trigger,
            reason,
            cost: checkpoint.cost,
            attrs: Arc::new(shown),
        };
        found.push(Attempt::Flushed { op: (next < question.ops.len()).then_some(next), region, grown: last });
        anchor = if is(Fault::RewindSkips) { next } else { checkpoint.end + 1 };
    }
    Ok(found)
}

/// The regions of the plan.
///
/// # Errors
/// Where there is none.
pub fn regions(question: &Question<'_>) -> Result<Vec<Region>, Stuck> {
    if question.beam > 1 && !question.is(Fault::BeamIgnored) {
        return beam::beam(question);
    }
    let closed = |attempt| match attempt {
        Attempt::Flushed { region, .. } => Some(region),
        Attempt::Joined { .. } => None,
    };
    Ok(attempts(question)?.into_iter().filter_map(closed).collect())
}

fn text(question: &Question<'_>, cost: &Rational) -> String {
    if question.is(Fault::CostDecimal) { cost.approximately().to_string() } else { cost.to_string() }
}

/// The plan as a document.
///
/// # Errors
/// Where there is none.
pub fn plan(question: &Question<'_>) -> Result<Value, Stuck> {
    let regions = regions(question)?;
    let sum = regions.iter().fold(Rational::zero(), |sum, region| {
        if question.is(Fault::PlanCost) { sum.max(region.cost.clone()) } else { sum.plus(&region.cost) }
    });
    let regions: Vec<Value> = regions
        .iter()
        .map(|region| {
            json!({
                "anchor": region.anchor, "last": region.last, "kernel": region.kernel,
                "trigger": region.trigger.name(), "reason": region.reason.map(Reason::name),
                "cost": text(question, &region.cost), "attrs": region.attrs.document(),
            })
        })
        .collect();
    Ok(json!({"regions": regions, "cost": text(question, &sum)}))
}

/// The explanation as a document.
///
/// # Errors
/// Where there is no plan with one state.
pub fn explanation(question: &Question<'_>) -> Result<Value, Stuck> {
    let is = |fault| question.is(fault);
    let mut steps = Vec::new();
    let mut hint: Option<String> = None;
    for attempt in attempts(question)? {
        steps.push(match attempt {
            Attempt::Joined { anchor, op } => {
                let shown = if is(Fault::ExplainAttempt) && op > anchor { op - 1 } else { op };
                let matrix = fold(question, anchor, shown).map_err(|_| Stuck(op))?;
                let id = |kernel: &&Kernel| kernel.id.clone();
                let viable = candidates(question, anchor, shown, &matrix);
                let is_complete =
                    |kernel: &&&Kernel| complete(question, kernel, anchor, shown, &matrix).is_some();
                let mut complete: Vec<String> = viable.iter().filter(is_complete).map(&id).collect();
                let mut viable: Vec<String> = viable.iter().map(id).collect();
                if is(Fault::ExplainViable) {
                    viable.retain(|id| !complete.contains(id));
                }
                if !is(Fault::ExplainOrder) {
                    viable.sort();
                    complete.sort();
                }
                let cost = best(question, anchor, shown, &matrix).map(|(_, cost)| cost.to_string());
                if anchor == op || cost.is_some() {
                    hint.clone_from(&cost);
                }
                json!({
                    "action": if anchor == op { "start" } else { "join" }, "op": op, "viable": viable,
                    "complete": complete,
                    "score_hint": if is(Fault::ExplainHint) { &hint } else { &cost },
                    "attrs": matrix.document(),
                })
            }
            Attempt::Flushed { op, region, grown } => {
                let op = if is(Fault::ExplainEnd) { op.or(Some(question.ops.len() - 1)) } else { op };
                let rewound = grown - region.last;
                json!({
                    "action": "flush", "op": op, "trigger": region.trigger.name(),
                    "reason": region.reason.map(Reason::name), "anchor": region.anchor, "last": region.last,
                    "kernel": region.kernel,
                    "rewound": if is(Fault::ExplainRewound) && op.is_some() { rewound + 1 } else { rewound },
                })
            }
        });
    }
    Ok(json!({"steps": steps}))
}
