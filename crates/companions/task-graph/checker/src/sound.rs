//! Judges what the sound translation of a kernel graph gave (clause TGR-17): any graph with the work of the operators that
//! breaks no rule and keeps the order of the operators wherever two tasks conflict.

use megakernel_ir::rule::Severity;
use megakernel_task_graph::{EventId, System, Task, Tile, Translation, read_system, read_translation};
use serde_json::{Value, json};

use super::access::{self, Access};
use super::order::{Node, Order};
use super::race::conflict;
use super::{Subject, judge_system};
use crate::work::{self, Work};

/// The request for the graph of each rank in turn.
///
/// # Errors
/// The document is no translation request.
pub fn all_ranks(request: &[u8]) -> Result<Vec<String>, String> {
    let count =
        read_translation(request).map_err(|found| format!("no translation request: {found:?}"))?.ranks;
    let value: Value = serde_json::from_slice(request).map_err(|cause| cause.to_string())?;
    let of_rank = |rank: i64| {
        let mut request = value.clone();
        request["rank"] = json!(rank);
        request.to_string()
    };
    Ok((0..count).map(of_rank).collect())
}

/// Judges the graphs of all ranks, in order.
///
/// # Errors
/// What is wrong with them, in a sentence.
pub fn sound(request: &[u8], graphs: &[String]) -> Result<(), String> {
    let request = read_translation(request).map_err(|found| format!("no translation request: {found:?}"))?;
    let mut ranks = Vec::new();
    for (rank, graph) in graphs.iter().enumerate() {
        let graph: Value =
            serde_json::from_str(graph).map_err(|cause| format!("rank {rank} is not JSON: {cause}"))?;
        ranks.push(graph);
    }
    // The kernel graph goes along as the request has it: it declares the tensors.
    let kernel_graph = megakernel_ir::write_record(&request.kernel_graph, megakernel_ir::Layout::Compact);
    let kernel_graph: Value = serde_json::from_str(&kernel_graph).map_err(|cause| cause.to_string())?;
    let text = json!({"ranks": ranks, "kernel_graph": kernel_graph}).to_string();
    let system = read_system(text.as_bytes()).map_err(|found| {
        let first =
            found.first().map(|found| format!("{} at {}: {}", found.rule, found.pointer, found.message));
        format!("no task graph: {}", first.unwrap_or_default())
    })?;
    let owners = owners(&request, &system)?;
    let broken = judge_system(&system);
    if let Some((rule, at)) = broken.iter().find(|(rule, _)| rule.severity() == Severity::Error) {
        return Err(format!("{rule} at {at}"));
    }
    in_order(&system, &owners)
}

/// For each rank the operator that each task from 2 on belongs to: tasks and work are the same, in any order.
fn owners(request: &Translation<'_>, system: &System<'_>) -> Result<Vec<Vec<usize>>, String> {
    let mut owners = Vec::new();
    for (rank, graph) in system.ranks.iter().enumerate() {
        let all = work::work(&request.kernel_graph, request.ranks, rank as i64, true)?;
        // Of equal tasks the earlier is the earlier operator's: if they conflict, they are ordered and their ids ascend.
        let mut open: Vec<Work> = all.into_iter().flatten().collect();
        let mut mine = Vec::new();
        for (t, task) in graph.all_tasks.iter().enumerate().skip(2) {
            let Some(n) = open.iter().position(|work| does(task, work)) else {
                return Err(format!(
                    "task {t} of rank {rank}, of type {}, is no work of an operator that is still to be done",
                    task.task_type
                ));
            };
            mine.push(open.remove(n).operator);
        }
        if let Some(left) = open.first() {
            let Some(operator) = request.kernel_graph.operators.get(left.operator) else { continue };
            return Err(format!(
                "rank {rank} has no task of type {} for block {:?} of operator `{}`",
                left.task_type, left.block, operator.name
            ));
        }
        owners.push(mine);
    }
    Ok(owners)
}

fn does(task: &Task<'_>, work: &Work) -> bool {
    let target = EventId::from_bits(task.trigger_event).map(|id| i64::from(id.rank));
    task.task_type == work.task_type
        && task.variant_id == work.variant
        && same(task.inputs(), &work.inputs)
        && same(task.outputs(), &work.outputs)
        && work.target.is_none_or(|rank| target == Some(rank))
}

fn same(found: &[Tile<'_>], wanted: &[work::Tile]) -> bool {
    found.len() == wanted.len()
        && found.iter().zip(wanted).all(|(found, wanted)| {
            *found.base_ptr == *wanted.base
                && found.data_type == wanted.dtype
                && found.dims.as_slice() == wanted.dims
                && found.strides.as_slice() == wanted.strides
                && found.offset == wanted.offset
        })
}

/// Of two tasks that conflict, that of the earlier operator comes first.
fn in_order(system: &System<'_>, owners: &[Vec<usize>]) -> Result<(), String> {
    let subject = Subject { graphs: &system.ranks, bare: false, kernel_graph: None };
    let order = Order::new(&subject);
    let accesses = access::of(&subject);
    let storages = access::storages(&accesses);
    let owner = |(graph, task): Node| owners.get(graph).and_then(|tasks| tasks.get(task.wrapping_sub(2)));
    for (n, first) in accesses.iter().enumerate() {
        for (m, second) in accesses.iter().enumerate() {
            let (Some(a), Some(b)) = (owner(first.node), owner(second.node)) else { continue };
            let ordered = order.is_before(order.index(first.node), order.index(second.node));
            if a < b && !ordered && conflict(&storages, &accesses, n, m) {
                return Err(backwards(first, second));
            }
        }
    }
    Ok(())
}

fn backwards(first: &Access, second: &Access) -> String {
    format!("{} of an earlier operator conflicts with {} and does not come before it", first.at, second.at)
}
