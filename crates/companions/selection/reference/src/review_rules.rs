//! The rules KP: is a plan one, and the one that the definition gives?

use megakernel_ir::Rule;
use megakernel_selection::{Fault, Flag, GivenRegion, Op, Review};
use serde_json::Value;

use crate::kernels::{Chain, Kernels};
use crate::plan::{Region, document};
use crate::rows::Matrix;
use crate::stream::{connection, escaping};

/// What a plan breaks, stage by stage (clause SEL-01).
pub fn review(review: &Review, kernels: &Kernels) -> Vec<Fault> {
    let mut found = outline(review, kernels);
    if found.is_empty() {
        for (number, region) in review.plan.regions.iter().enumerate() {
            judge(review, kernels, number, region, &mut found);
        }
    }
    if found.is_empty() {
        found = choice(review, kernels);
    }
    found
}

fn place(number: usize) -> String {
    format!("/plan/regions/{number}")
}

/// KP01 to KP03.
fn outline(review: &Review, kernels: &Kernels) -> Vec<Fault> {
    let mut found = Vec::new();
    let ops = review.request.sequence.ops.len();
    let mut covered = vec![false; ops];
    let mut before = -1i64;
    for (number, region) in review.plan.regions.iter().enumerate() {
        let (anchor, last) = (region.anchor, region.last);
        let from = usize::try_from(anchor).unwrap_or(0);
        let end = usize::try_from(last).map_or(0, |last| last.saturating_add(1)).min(ops);
        let fits = usize::try_from(last).is_ok_and(|last| last < ops);
        if anchor < 0 || anchor <= before || last < anchor || !fits {
            let message = format!("found {anchor} to {last}, required ops behind {before} and before {ops}");
            let twice = (from..end).filter(|&op| covered.get(op) == Some(&true));
            found.push(Fault::new(Rule::KP02, place(number), message).shown_by(twice, []));
        }
        before = last;
        covered.get_mut(from..end).unwrap_or_default().fill(true);
        if kernels.find(&region.kernel).is_none() {
            let message = format!("the index has no kernel `{}`", region.kernel);
            found.push(Fault::new(Rule::KP03, format!("{}/kernel", place(number)), message));
        }
    }
    let mut left_out = (0..ops).filter(|&op| covered.get(op) == Some(&false)).peekable();
    if let Some(&op) = left_out.peek() {
        let message = format!("op {op} is in no region");
        found.push(Fault::new(Rule::KP01, "/plan/regions", message).shown_by(left_out, []));
    }
    found
}

/// KP04 to KP07 of one region.
fn judge(review: &Review, kernels: &Kernels, number: usize, region: &GivenRegion, found: &mut Vec<Fault>) {
    let at = |index: i64| usize::try_from(index).unwrap_or(0);
    let (anchor, last) = (at(region.anchor), at(region.last));
    let ops = review.request.sequence.ops.get(anchor..=last).unwrap_or_default();
    let id = &*region.kernel;
    let mut report = |rule, message: String, shown: Vec<usize>| {
        found.push(Fault::new(rule, place(number), message).shown_by(shown, [id]));
    };
    if ops.len() as i64 > review.request.options.limit {
        let message = format!("found {} ops, required at most {}", ops.len(), review.request.options.limit);
        report(Rule::KP07, message, (anchor..=last).collect());
    }
    let barrier = |op: &Op| op.rows.flags.contains(&Flag::Barrier);
    if let Some(op) = ops.iter().skip(1).position(|op| op.marker.is_some()) {
        report(
            Rule::KP05,
            format!("op {} has a marker", anchor + op + 1),
            vec![anchor + op, anchor + op + 1],
        );
    } else if let (true, Some(op)) = (ops.len() > 1, ops.iter().position(barrier)) {
        let other = if op > 0 { op - 1 } else { op + 1 };
        report(Rule::KP05, format!("op {} is a barrier", anchor + op), vec![anchor + op, anchor + other]);
    }
    let not_done = |why: &str| format!("`{id}` does not do these ops: {why}");
    match covers(kernels, id, ops, last) {
        Cover::Whole => {}
        Cover::Not(Failing { why, ops }) => {
            report(Rule::KP04, not_done(&why), (anchor..anchor + ops).collect());
        }
        Cover::Loses { op, constraints } => {
            let writer = ops.get(op).into_iter();
            let readers = writer.flat_map(|op| &op.writes).flat_map(|write| &write.readers);
            let beyond = readers.filter_map(|&reader| usize::try_from(reader).ok());
            let shown = beyond.filter(|&reader| reader > last).chain([anchor + op]).collect();
            report(Rule::KP06, format!("`{id}` does not write what op {} writes", anchor + op), shown);
            if let Some(Failing { why, ops }) = constraints {
                report(Rule::KP04, not_done(&why), (anchor..anchor + ops).collect());
            }
        }
    }
}

enum Cover {
    Whole,
    Not(Failing),
    /// Something is lost; and perhaps a constraint is not met either.
    Loses {
        op: usize,
        constraints: Option<Failing>,
    },
}

/// Why a kernel does not do the ops, and the first how many of them show it.
struct Failing {
    why: String,
    ops: usize,
}

/// Whether a kernel is complete for a region: straight from the clauses, op by op, without an automaton.
fn covers(kernels: &Kernels, id: &str, ops: &[Op], last: usize) -> Cover {
    let Some(kernel) = kernels.find(id).and_then(|number| kernels.get(number)) else {
        return Cover::Not(Failing { why: "there is no such kernel".to_owned(), ops: ops.len() });
    };
    let mut matrix: Option<Matrix> = None;
    let mut conflict = None;
    let mut stage = None;
    let mut lost = None;
    for (place, op) in ops.iter().enumerate() {
        let region = ops.get(..place).unwrap_or_default();
        let chain = if place == 0 { Some(Chain::default()) } else { connection(region, op) };
        let composed = match (&matrix, chain) {
            (None, _) => Ok(Matrix::of(&op.rows)),
            (Some(_), None) => Err(format!("op {place} of them has nothing to do with those before")),
            (Some(matrix), Some(_)) => matrix
                .compose(&op.rows)
                .map_err(|reason| format!("op {place} of them does not compose: {}", reason.name())),
        };
        match composed {
            Ok(composed) => matrix = Some(composed),
            Err(why) => conflict = conflict.or(Some(Failing { why, ops: place + 1 })),
        }
        let Some(next) = kernel.step(stage, &op.rows, &written(region, op)) else {
            let why = format!("op {place} of them is not at a stage");
            return Cover::Not(Failing { why, ops: place + 1 });
        };
        stage = Some(next);
        let escapes = !escaping(std::slice::from_ref(op), last).is_empty();
        if escapes && !kernel.writes_out(next) {
            lost = lost.or(Some(place));
        }
    }
    let (Some(matrix), Some(stage)) = (matrix, stage) else {
        return Cover::Not(Failing { why: "there are none".to_owned(), ops: 0 });
    };
    let whole = |why: &str| Some(Failing { why: why.to_owned(), ops: ops.len() });
    let constraints = if conflict.is_some() {
        conflict
    } else if !kernel.ends(stage) {
        whole("stages are missing at the end")
    } else if !kernel.viable(&matrix) || kernel.suits(&matrix).is_none() {
        whole("a constraint is not met, or the cost cannot be computed")
    } else {
        None
    };
    match (lost, constraints) {
        (None, None) => Cover::Whole,
        (None, Some(why)) => Cover::Not(why),
        (Some(op), constraints) => Cover::Loses { op, constraints },
    }
}

/// Which operands the region has written, whether it is connected or not.
fn written(region: &[Op], op: &Op) -> Chain {
    connection(region, op).unwrap_or_default()
}

/// KP08 and KP09.
fn choice(review: &Review, kernels: &Kernels) -> Vec<Fault> {
    let request = &review.request;
    let Ok(plan) = crate::answer::plan(request, kernels) else {
        let message = "the definition has no plan for this request".to_owned();
        return vec![Fault::new(Rule::KP08, "/plan/regions", message)];
    };
    let given = &review.plan.regions;
    let differs = |at: usize| match (given.get(at), plan.get(at)) {
        (Some(given), Some(region)) => {
            usize::try_from(given.anchor) != Ok(region.anchor)
                || usize::try_from(given.last) != Ok(region.last)
                || given.kernel != kernels.id(region.kernel)
        }
        (None, None) => false,
        _ => true,
    };
    if let Some(at) = (0..given.len().max(plan.len())).find(|&at| differs(at)) {
        let wanted = plan.get(at).map_or_else(
            || "no more regions".to_owned(),
            |region| format!("{} to {} by `{}`", region.anchor, region.last, kernels.id(region.kernel)),
        );
        let place = if at < given.len() { place(at) } else { "/plan/regions".to_owned() };
        let fault = Fault::new(Rule::KP08, place, format!("the definition chooses {wanted}"));
        return vec![shown_by(fault, plan.get(at), kernels)];
    }
    let regions = plan;
    let plan = document(&regions, &|kernel| kernels.id(kernel).to_owned());
    let mut found = Vec::new();
    for (number, region) in given.iter().enumerate() {
        for (name, value) in &region.given {
            let wanted = plan.pointer(&format!("/regions/{number}/{name}"));
            if wanted != Some(value) {
                let wanted = wanted.map(Value::to_string).unwrap_or_default();
                let message = format!("found {value}, required {wanted}");
                let fault = Fault::new(Rule::KP09, format!("{}/{name}", place(number)), message);
                found.push(shown_by(fault, regions.get(number), kernels));
            }
        }
    }
    if let Some(cost) = &review.plan.cost
        && plan.get("cost") != Some(cost)
    {
        let wanted = plan.get("cost").map(Value::to_string).unwrap_or_default();
        found.push(Fault::new(Rule::KP09, "/plan/cost", format!("found {cost}, required {wanted}")));
    }
    found
}

/// A fault that a region of the definition shows.
fn shown_by(fault: Fault, region: Option<&Region>, kernels: &Kernels) -> Fault {
    match region {
        Some(region) => fault.shown_by(region.anchor..=region.last, [kernels.id(region.kernel)]),
        None => fault,
    }
}
