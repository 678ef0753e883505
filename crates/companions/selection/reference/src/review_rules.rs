//! The rules KP: is a plan one, and the one that the definition gives?

use megakernel_ir::Rule;
use megakernel_selection::{Fault, Flag, GivenRegion, Op, Review};
use serde_json::Value;

use crate::kernels::{Chain, Kernels};
use crate::plan::document;
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
        let fits = usize::try_from(last).is_ok_and(|last| last < ops);
        if anchor < 0 || anchor <= before || last < anchor || !fits {
            let message = format!("found {anchor} to {last}, required ops behind {before} and before {ops}");
            found.push(Fault::new(Rule::KP02, place(number), message));
        }
        before = last;
        let anchor = usize::try_from(anchor).unwrap_or(0);
        let end = usize::try_from(last).map_or(0, |last| last.saturating_add(1)).min(ops);
        covered.get_mut(anchor..end).unwrap_or_default().fill(true);
        if kernels.find(&region.kernel).is_none() {
            let message = format!("the index has no kernel `{}`", region.kernel);
            found.push(Fault::new(Rule::KP03, format!("{}/kernel", place(number)), message));
        }
    }
    if let Some(op) = covered.iter().position(|covered| !covered) {
        found.push(Fault::new(Rule::KP01, "/plan/regions", format!("op {op} is in no region")));
    }
    found
}

/// KP04 to KP07 of one region.
fn judge(review: &Review, kernels: &Kernels, number: usize, region: &GivenRegion, found: &mut Vec<Fault>) {
    let at = |index: i64| usize::try_from(index).unwrap_or(0);
    let (anchor, last) = (at(region.anchor), at(region.last));
    let ops = review.request.sequence.ops.get(anchor..=last).unwrap_or_default();
    let mut report = |rule, message: String| found.push(Fault::new(rule, place(number), message));
    if ops.len() as i64 > review.request.options.limit {
        report(
            Rule::KP07,
            format!("found {} ops, required at most {}", ops.len(), review.request.options.limit),
        );
    }
    let barrier = |op: &Op| op.rows.flags.contains(&Flag::Barrier);
    if let Some(op) = ops.iter().skip(1).position(|op| op.marker.is_some()) {
        report(Rule::KP05, format!("op {} has a marker", anchor + op + 1));
    } else if let (true, Some(op)) = (ops.len() > 1, ops.iter().position(barrier)) {
        report(Rule::KP05, format!("op {} is a barrier", anchor + op));
    }
    match covers(kernels, &region.kernel, ops, last) {
        Cover::Whole => {}
        Cover::Not(why) => report(Rule::KP04, format!("`{}` does not do these ops: {why}", region.kernel)),
        Cover::Loses { op, constraints } => {
            report(Rule::KP06, format!("`{}` does not write what op {} writes", region.kernel, anchor + op));
            if let Some(why) = constraints {
                report(Rule::KP04, format!("`{}` does not do these ops: {why}", region.kernel));
            }
        }
    }
}

enum Cover {
    Whole,
    Not(String),
    /// Something is lost; and perhaps a constraint is not met either.
    Loses {
        op: usize,
        constraints: Option<String>,
    },
}

/// Whether a kernel is complete for a region: straight from the clauses, op by op, without an automaton.
fn covers(kernels: &Kernels, id: &str, ops: &[Op], last: usize) -> Cover {
    let Some(kernel) = kernels.find(id).and_then(|number| kernels.get(number)) else {
        return Cover::Not("there is no such kernel".to_owned());
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
            Err(why) => conflict = conflict.or(Some(why)),
        }
        let Some(next) = kernel.step(stage, &op.rows, &written(region, op)) else {
            return Cover::Not(format!("op {place} of them is not at a stage"));
        };
        stage = Some(next);
        let escapes = !escaping(std::slice::from_ref(op), last).is_empty();
        if escapes && !kernel.writes_out(next) {
            lost = lost.or(Some(place));
        }
    }
    let (Some(matrix), Some(stage)) = (matrix, stage) else {
        return Cover::Not("there are none".to_owned());
    };
    let constraints = if let Some(why) = conflict {
        Some(why)
    } else if !kernel.ends(stage) {
        Some("stages are missing at the end".to_owned())
    } else if !kernel.viable(&matrix) || kernel.suits(&matrix).is_none() {
        Some("a constraint is not met, or the cost cannot be computed".to_owned())
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
        return vec![Fault::new(Rule::KP08, place, format!("the definition chooses {wanted}"))];
    }
    let plan = document(&plan, &|kernel| kernels.id(kernel).to_owned());
    let mut found = Vec::new();
    for (number, region) in given.iter().enumerate() {
        for (name, value) in &region.given {
            let wanted = plan.pointer(&format!("/regions/{number}/{name}"));
            if wanted != Some(value) {
                let wanted = wanted.map(Value::to_string).unwrap_or_default();
                let message = format!("found {value}, required {wanted}");
                found.push(Fault::new(Rule::KP09, format!("{}/{name}", place(number)), message));
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
