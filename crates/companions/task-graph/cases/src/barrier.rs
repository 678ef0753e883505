//! The plainest sound translation: each operator waits for all of the one before it. It serves as a worker that is right,
//! against which the judge of translations and the corpus are measured.

use megakernel_corpus::builder::Result;
use megakernel_task_graph::KernelGraph;
use megakernel_task_graph_checker::work::Work;
use serde_json::Value;

use crate::build::{Event, GraphBuilder, NewTask};
use crate::exact::work;

const REDUCE: i64 = 107;

/// The graph of one rank.
///
/// # Errors
/// The kernel graph breaks a TK rule.
pub fn barrier(kernel_graph: &KernelGraph<'_>, ranks: i64, rank: i64) -> Result<Value> {
    let operators = work(kernel_graph, ranks, rank, true)?;
    let mut graph = GraphBuilder::of_rank(rank as u16);
    let mut after: Option<Event> = None;
    let count = operators.len();
    for (n, tasks) in operators.into_iter().enumerate() {
        let next = (n + 1 < count).then(|| graph.event(&format!("after {n}")));
        let (reductions, others): (Vec<Work>, Vec<Work>) =
            tasks.into_iter().partition(|task| task.task_type == REDUCE);
        let copied: Vec<([i64; 3], Event)> = reductions
            .iter()
            .map(|task| (task.block, graph.remote_event(&format!("copied {n} {:?}", task.block), ranks)))
            .collect();
        let of_block = |block| copied.iter().find(|(other, _)| *other == block).map(|(_, event)| *event);
        for (t, task) in others.iter().enumerate() {
            let mut new = plain(&format!("{n} {t}"), task, after);
            new = match (task.target, of_block(task.block), next) {
                (Some(target), Some(event), _) => new.triggers_at(target as u16, event),
                (_, _, Some(next)) => new.triggers(next),
                _ => new,
            };
            graph.add(new);
        }
        for task in &reductions {
            let new = plain(&format!("{n} reduce {:?}", task.block), task, of_block(task.block));
            graph.add(next.map_or(new.clone(), |next| new.triggers(next)));
        }
        after = next;
    }
    Ok(graph.finish()?.value)
}

fn plain(label: &str, task: &Work, after: Option<Event>) -> NewTask {
    let new =
        NewTask::new(label, task.task_type).variant(task.variant).reads(&task.inputs).writes(&task.outputs);
    match after {
        Some(event) => new.after(event),
        None => new,
    }
}
