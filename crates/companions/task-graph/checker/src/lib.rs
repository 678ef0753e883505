//! A straightforward judge of task graphs: every rule as its sentence says it, on small graphs, with no thought for speed.
//!
//! It never decides what a case expects. It judges what a worker answers in the sound mode of translation, where many graphs
//! are right, and it gives a second opinion on every case of the corpus in the tests.

use std::collections::BTreeSet;

use megakernel_ir::{Diagnostic, Rule};
use megakernel_task_graph::{
    EventId, KernelGraph, Reach, System, Task, TaskGraph, read_system, read_task_graph,
};
use serde_json::Value;

mod access;
mod bounds;
mod checker;
mod deadlock;
mod order;
mod race;
mod ranks;
mod sound;
mod structure;
pub mod work;

pub use checker::{CHECKER, Translations};
pub use sound::{all_ranks, sound};

/// Broken rules, each with the pointer of its place.
pub type Findings = BTreeSet<(Rule, String)>;

/// The graphs that are judged together.
struct Subject<'a> {
    graphs: &'a [TaskGraph<'a>],
    /// A bare graph: other ranks are there, but not seen.
    bare: bool,
    kernel_graph: Option<&'a KernelGraph<'a>>,
}

impl<'a> Subject<'a> {
    /// Pointer of something in a graph.
    fn at(&self, graph: usize, rest: &str) -> String {
        if self.bare { rest.to_owned() } else { format!("/ranks/{graph}{rest}") }
    }

    /// The rank that the ids of a graph call its own: that of the event that task 1 triggers.
    fn rank(&self, graph: usize) -> u16 {
        let begin = self.graphs.get(graph).and_then(|graph| graph.all_tasks.get(1));
        begin.and_then(|task| EventId::from_bits(task.trigger_event)).map_or(0, |id| id.rank)
    }

    /// The graph whose events have this rank.
    fn graph_of(&self, rank: u16) -> Option<usize> {
        (0..self.graphs.len()).find(|&graph| self.rank(graph) == rank)
    }

    fn tasks(&self, graph: usize) -> &'a [Task<'a>] {
        self.graphs.get(graph).map_or(&[], |graph| graph.all_tasks.as_slice())
    }

    /// A bare graph that copies to ranks which are not seen.
    fn incomplete(&self) -> bool {
        let elsewhere = |task: &Task<'_>| {
            EventId::from_bits(task.trigger_event).is_some_and(|id| id.nvshmem && id.rank != self.rank(0))
        };
        self.bare && self.tasks(0).iter().any(|task| elsewhere(task) || is_collective(task))
    }

    /// The event that a task triggers, as graph and position; nothing where that graph is not seen or there is none.
    fn trigger(&self, task: &Task<'_>) -> Option<(usize, usize)> {
        let id = EventId::from_bits(task.trigger_event)?;
        Some((self.graph_of(id.rank)?, id.position as usize))
    }

    /// The event that a task depends on; its graph is the task's own.
    fn dependent(&self, task: &Task<'_>) -> Option<usize> {
        EventId::from_bits(task.dependent_event).map(|id| id.position as usize)
    }
}

/// Whether a task writes into the memory of the rank whose event it triggers.
fn is_put(task: &Task<'_>) -> bool {
    task.known_type().is_some_and(|known| known.reach == Reach::Put)
}

/// Whether a task meets those of the other ranks.
fn is_collective(task: &Task<'_>) -> bool {
    task.known_type().is_some_and(|known| known.reach == Reach::Rendezvous)
}

/// Judges a document: a system if it has a member `ranks`, else the graph of one rank.
///
/// # Errors
/// It is no such document: the rules of class S that it breaks.
pub fn judge(document: &[u8]) -> Result<Findings, Vec<Diagnostic>> {
    let value: Option<Value> = serde_json::from_slice(document).ok();
    if value.is_some_and(|value| value.get("ranks").is_some()) {
        return Ok(judge_system(&read_system(document)?));
    }
    let graph = read_task_graph(document)?;
    Ok(judge_subject(&Subject { graphs: std::slice::from_ref(&graph), bare: true, kernel_graph: None }))
}

/// Judges the graphs of all ranks.
pub fn judge_system(system: &System<'_>) -> Findings {
    judge_subject(&Subject { graphs: &system.ranks, bare: false, kernel_graph: system.kernel_graph.as_ref() })
}

fn judge_subject(subject: &Subject<'_>) -> Findings {
    let mut found = structure::errors(subject);
    if !found.is_empty() {
        return found;
    }
    let order = order::Order::new(subject);
    let accesses = access::of(subject);
    let storages = access::storages(&accesses);
    found.extend(structure::warnings(subject));
    found.extend(deadlock::errors(subject, &order));
    found.extend(bounds::errors(subject, &accesses));
    found.extend(bounds::warnings(&storages, &accesses));
    found.extend(ranks::events(subject));
    let mismatched = ranks::collectives(subject, &order);
    let met = mismatched.is_empty();
    found.extend(mismatched);
    if met && !order.cyclic() {
        found.extend(race::errors(&order, &accesses, &storages));
        found.extend(ranks::at_once(subject, &order));
        found.extend(ranks::races(subject, &order, &accesses, &storages));
    }
    found
}
