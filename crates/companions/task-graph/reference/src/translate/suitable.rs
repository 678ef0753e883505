//! What no graph could make good in sound mode: rules TK07 to TK09, and what TK04 asks there.

use megakernel_ir::{Diagnostic, Rule};
use megakernel_task_graph::{Effect, Reach, TaskType};

use super::history::{Access, Place, accesses};
use super::plan::{Operator, Plan};

/// Everything that stands against a sound graph.
pub fn check(plan: &Plan<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut unread = vec![false; plan.tensors.len()];
    for (index, operator) in plan.operators.iter().enumerate() {
        let known = TaskType::of(operator.task_type);
        let adds = |known: &TaskType| known.outputs.iter().any(|role| role.access == Effect::Add);
        if let Some(known) = known.filter(|known| known.reach != Reach::Own || adds(known)) {
            let message = format!(
                "{} cannot be translated soundly: it works together with other ranks, or with tasks beside it; an all-reduce is of type ALLREDUCE (106)",
                known.name
            );
            let at = format!("/kernel_graph/operators/{index}/task_type");
            found.push(Diagnostic::new(Rule::TK09, at, message));
        }
        let accesses = accesses(plan, operator);
        for access in accesses.iter().filter(|access| access.writes) {
            if let Some(message) = conflict(plan, operator, access, &accesses) {
                found.push(Diagnostic::new(Rule::TK07, pointer(index, access), message));
            }
        }
        for access in accesses.iter().filter(|access| access.reads) {
            unread[access.tensor] = false;
        }
        for access in accesses.iter().filter(|access| access.writes) {
            if unread[access.tensor] {
                let name = &plan.tensors[access.tensor].name;
                let message =
                    format!("`{name}` is written again and nobody has read what was written before");
                found.push(Diagnostic::new(Rule::TK08, pointer(index, access), message));
            }
            unread[access.tensor] = true;
        }
    }
    all_reduces(plan, &mut found);
    found
}

fn pointer(operator: usize, access: &Access<'_>) -> String {
    match access.at {
        Place::Input(number) => format!("/kernel_graph/operators/{operator}/inputs/{number}"),
        Place::Output(number) => format!("/kernel_graph/operators/{operator}/outputs/{number}"),
    }
}

/// Why two blocks conflict of which one writes by `written`.
fn conflict(
    plan: &Plan<'_>,
    operator: &Operator,
    written: &Access<'_>,
    accesses: &[Access<'_>],
) -> Option<String> {
    let map = |access: &Access<'_>| {
        let map = access.operand().map_or([None; 3], |operand| operand.map);
        [0, 1, 2].map(|axis| map[axis].filter(|_| operator.grid[axis] > 1))
    };
    let name = &plan.tensors[written.tensor].name;
    let own = map(written);
    if let Some(axis) = (0..3).find(|&axis| operator.grid[axis] > 1 && own[axis].is_none()) {
        let blocks = operator.grid[axis];
        return Some(format!(
            "{blocks} blocks along grid axis {axis} write the same elements of `{name}`, in no order"
        ));
    }
    let others = accesses.iter().filter(|other| other.tensor == written.tensor);
    others.into_iter().any(|other| map(other) != own).then(|| {
        format!(
            "a block accesses elements of `{name}` that another block of the operator writes, in no order"
        )
    })
}

fn all_reduces(plan: &Plan<'_>, found: &mut Vec<Diagnostic>) {
    let indices = || {
        plan.operators.iter().enumerate().filter_map(|(i, o)| o.all_reduce().map(|operands| (i, operands)))
    };
    let mut report = |at: String, message: String| found.push(Diagnostic::new(Rule::TK04, at, message));
    for (index, [_, buffer, _]) in indices() {
        let at = format!("/kernel_graph/operators/{index}/inputs/1/tensor");
        let operands = |operator: &Operator| {
            let inputs =
                operator.inputs.iter().flatten().filter(|operand| operand.tensor == buffer.tensor).count();
            inputs + operator.outputs.iter().filter(|operand| operand.tensor == buffer.tensor).count()
        };
        let uses: usize = plan.operators.iter().map(operands).sum();
        let is_part = plan.tensors.iter().any(|t| t.parts.iter().any(|part| part.tensor == buffer.tensor));
        if uses != 1 || is_part {
            let name = &plan.tensors[buffer.tensor].name;
            report(
                at,
                format!(
                    "`{name}` is used elsewhere too; in sound mode each all-reduce needs a buffer of its own"
                ),
            );
        }
    }
    let mut all = indices();
    if let (Some((only, _)), None) = (all.next(), all.next()) {
        let message = "in sound mode an iteration needs two all-reduces or more: with one, nothing keeps a rank from \
                       overwriting the buffer of another that has not read it in the iteration before";
        return report(format!("/kernel_graph/operators/{only}"), message.to_owned());
    }
    copied_partials(plan, &mut report);
    // What the last all-reduce copies away is read on no schedule of this rank; only another all-reduce tells that it was.
    let (Some((first, _)), Some((last, [partial, ..]))) = (indices().next(), indices().next_back()) else {
        return;
    };
    for (index, operator) in plan.operators.iter().enumerate().take(first) {
        if accesses(plan, operator).iter().any(|access| access.writes && access.tensor == partial.tensor) {
            let name = &plan.tensors[partial.tensor].name;
            let message = format!(
                "`{name}` is written by operator {index}, before any all-reduce: in the next iteration nothing keeps it \
                 from overwriting what this all-reduce, the last one, still copies; give it a partial sum of its own"
            );
            report(format!("/kernel_graph/operators/{last}/inputs/0"), message);
        }
    }
}

/// Nobody may write a partial sum that copies may still be reading: they trigger other ranks' events only, so that nothing
/// on this rank can wait for them before the next all-reduce.
fn copied_partials(plan: &Plan<'_>, report: &mut impl FnMut(String, String)) {
    let mut copied: Option<usize> = None;
    for (index, operator) in plan.operators.iter().enumerate() {
        let own = operator.all_reduce().map(|[partial, ..]| partial.tensor);
        let accesses = accesses(plan, operator);
        let tensors = [own, copied];
        if let Some(access) =
            accesses.iter().find(|access| access.writes && tensors.contains(&Some(access.tensor)))
        {
            let name = &plan.tensors[access.tensor].name;
            let message = format!(
                "`{name}` is overwritten while an all-reduce may still be copying it to other ranks; in sound mode \
                 another all-reduce has to come in between"
            );
            report(pointer(index, access), message);
        }
        copied = own.or(copied);
    }
}
