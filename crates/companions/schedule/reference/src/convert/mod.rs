//! Programs and task graphs as schedules, and schedules as programs (clauses SCH-15 and SCH-16). What their tasks access, the explorers of both say, which share no
//! code with the validators.

mod lower;
mod program;
mod task_graph;

pub use lower::lower;

use megakernel_ir::rule::Class;
use megakernel_ir::{Diagnostic, Rule, read};
use megakernel_reference::validate::{Classes, broken_rules};
use megakernel_task_graph::{System, TaskGraph, read_system, read_task_graph};
use megakernel_task_graph_reference::explore::Setup;
use megakernel_task_graph_reference::validate::{Graphs, broken_rules as broken_rules_of_graphs, is_system};
use serde_json::Value;

use crate::region::MOST;

/// Converts a program, a task graph, a system, or the task graphs of all ranks.
///
/// # Errors
/// Why there is no such schedule.
pub fn convert(documents: &[Vec<u8>]) -> Result<Value, String> {
    match documents {
        [document] if !is_task_graph(document) => of_program(document),
        [document] if is_system(document) => {
            let system = read_system(document).map_err(|found| unread("system of task graphs", &found))?;
            of_system(system.ranks)
        }
        [document] => of_bare(&read_task_graph(document).map_err(|found| unread("task graph", &found))?),
        _ => {
            let ranks: Result<_, _> = documents.iter().map(|document| read_task_graph(document)).collect();
            of_system(ranks.map_err(|found| unread("task graph", &found))?)
        }
    }
}

fn is_task_graph(document: &[u8]) -> bool {
    megakernel_task_graph_reference::COMPANION.replay.is_some_and(|kind| kind.is_one(document))
}

fn of_program(document: &[u8]) -> Result<Value, String> {
    let program = read(document).map_err(|found| unread("program", &found))?;
    let broken = broken_rules(&program, Classes::of(&[Class::STRUCTURE]));
    sound(&broken, "validate")?;
    program::schedule(&program)
}

fn of_system(ranks: Vec<TaskGraph<'_>>) -> Result<Value, String> {
    let system = System { ranks, kernel_graph: None, extra: Vec::new() };
    let broken = broken_rules_of_graphs(Graphs::System(&system.ranks, None));
    sound(&broken, "validate-task-graph")?;
    task_graph::schedule(&Setup::new(&system)?)
}

fn of_bare(graph: &TaskGraph<'_>) -> Result<Value, String> {
    sound(&broken_rules_of_graphs(Graphs::Bare(graph, None)), "validate-task-graph")?;
    if task_graph::reaches_others(graph) {
        return Err("it is the task graph of one of several ranks; give those of all ranks, in their order"
            .to_owned());
    }
    task_graph::schedule(&Setup::bare(graph)?)
}

/// Refuses what breaks a rule of its structure.
fn sound(broken: &[Rule], command: &str) -> Result<(), String> {
    let is_structure = |rule: &&Rule| {
        matches!(rule.class(), Class::STRUCTURE | Class::TASK_GRAPH_STRUCTURE) || **rule == Rule::TX01
    };
    match broken.iter().find(is_structure) {
        Some(rule) => Err(format!("it breaks {rule} {}; `{command}` says where", rule.slug())),
        None => Ok(()),
    }
}

fn unread(what: &str, found: &[Diagnostic]) -> String {
    let first = found.first().map(|found| format!(": {} {}", found.rule, found.message));
    format!("this is no {what}{}", first.unwrap_or_default())
}

/// A number of a document that a schedule can say, too.
fn number(number: i64, what: impl FnOnce() -> String) -> Result<i64, String> {
    match (1..=MOST).contains(&number) {
        true => Ok(number),
        false => Err(format!("{} is {number}; in a schedule it can be 1 to {MOST}", what())),
    }
}
