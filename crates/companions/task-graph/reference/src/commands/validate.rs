//! `megakernel-reference validate-task-graph`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use megakernel_ir::{CounterId, Diagnostic, TaskId};
use megakernel_order::Verdict;
use megakernel_reference::commands::groups::groups;
use megakernel_reference::commands::validate::{self, Form, Judged, Kind};
use megakernel_reference::commands::{Numbering, read_file};
use megakernel_task_graph::{
    KernelGraph, System, TaskGraph, read_kernel_graph, read_system, read_task_graph,
};

use crate::validate::{Graphs, is_system, repairs, validate_keeping};

/// Judge MPK task graphs, several files together as the ranks of one system.
///
/// Exits 0 if they are accepted, 1 if they are rejected, 2 if a file cannot be read or the usage is wrong.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference validate-task-graph task_graph.json\n  megakernel-reference validate-task-graph rank0.json rank1.json\n  megakernel-reference validate-task-graph --kernel-graph kernel_graph.json --json system.json | jq .verdict\n\nEvery rule is explained, with a smallest failing graph, in spec/companions/task-graph/rules.md."
)]
pub struct Arguments {
    /// One task graph, the graphs of all ranks in their order, or a system that holds them all.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A kernel graph, whose declarations the tiles are compared with.
    #[arg(long, value_name = "FILE")]
    kernel_graph: Option<PathBuf>,
    /// Print one JSON object instead of text: files, verdict, diagnostics, groups, suppressed.
    #[arg(long)]
    json: bool,
    /// Show every finding, not only the first of those that say the same of other tasks.
    #[arg(long)]
    all: bool,
}

/// How many findings of a rule are looked at to find causes; more are counted.
const KEPT: u64 = 100_000;

/// Judges the files together.
pub fn run(arguments: &Arguments) -> ExitCode {
    let kind = TaskGraphs { kernel_graph: arguments.kernel_graph.as_ref() };
    let form = Form { json: arguments.json, all: arguments.all };
    validate::run(&kind, &arguments.files, form)
}

/// The task graphs of a system.
struct TaskGraphs<'a> {
    kernel_graph: Option<&'a PathBuf>,
}

impl Kind for TaskGraphs<'_> {
    const TOGETHER: bool = true;

    fn judge(&self, files: &[PathBuf], documents: &[Vec<u8>]) -> Result<Judged, Vec<String>> {
        let kernel_graph = self.kernel_graph.map(|path| read_file(path)).transpose();
        let kernel_graph = kernel_graph.map_err(|message| vec![message])?;
        if documents.len() > 1
            && let Some((file, _)) = files.iter().zip(documents).find(|(_, document)| is_system(document))
        {
            let file = file.display();
            return Err(vec![format!(
                "{file} holds a system, which is judged alone; give one task graph a rank"
            )]);
        }
        let kernel_graph = kernel_graph.as_deref().map(read_kernel_graph).transpose();
        let kernel_graph = kernel_graph.map_err(|diagnostics| {
            let file = self.kernel_graph.map(|path| path.display().to_string()).unwrap_or_default();
            let line = |found: &Diagnostic| {
                format!("{file} is no kernel graph: {}: {}", found.pointer, found.message)
            };
            diagnostics.iter().map(line).collect::<Vec<_>>()
        })?;
        Ok(judge(documents, kernel_graph.as_ref()))
    }

    fn place<'p>(&self, files: usize, pointer: &'p str) -> (usize, &'p str) {
        if files > 1
            && let Some(rest) = pointer.strip_prefix("/ranks/")
        {
            let (rank, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            if let Some(rank) = rank.parse().ok().filter(|&rank| rank < files) {
                return (rank, rest);
            }
        }
        (0, pointer)
    }
}

/// The verdict about one document, or about one a rank. Pointers are those of a system in the latter case.
fn judge(documents: &[Vec<u8>], kernel_graph: Option<&KernelGraph<'_>>) -> Judged {
    match documents {
        [document] if is_system(document) => match read_system(document) {
            Ok(System { ranks, kernel_graph: own, .. }) => {
                explained(Graphs::System(&ranks, kernel_graph.or(own.as_ref())))
            }
            Err(diagnostics) => Verdict::of_unread(diagnostics).into(),
        },
        [document] => match read_task_graph(document) {
            Ok(graph) => explained(Graphs::Bare(&graph, kernel_graph)),
            Err(diagnostics) => Verdict::of_unread(diagnostics).into(),
        },
        _ => {
            let (mut ranks, mut wrong) = (Vec::new(), Vec::new());
            for (rank, document) in documents.iter().enumerate() {
                match read_task_graph(document) {
                    Ok(graph) => ranks.push(graph),
                    Err(diagnostics) => wrong.extend(diagnostics.into_iter().map(|diagnostic| Diagnostic {
                        pointer: format!("/ranks/{rank}{}", diagnostic.pointer),
                        ..diagnostic
                    })),
                }
            }
            match wrong.is_empty() {
                true => explained(Graphs::System(&ranks, kernel_graph)),
                false => Verdict::of_unread(wrong).into(),
            }
        }
    }
}

/// The verdict about graphs, its findings by cause, and what would repair them.
fn explained(graphs: Graphs<'_, '_>) -> Judged {
    let verdict = validate_keeping(graphs, KEPT);
    let mut groups = groups(&verdict.diagnostics);
    let firsts: Vec<&Diagnostic> =
        groups.iter().filter_map(|group| verdict.diagnostics.get(group.first())).collect();
    let repairs = repairs(&graphs, &firsts);
    for (group, repair) in groups.iter_mut().zip(repairs) {
        group.repair = repair.map(|(_, words)| words);
    }
    let numbering = match graphs {
        Graphs::System(ranks, _) => numbering(ranks),
        Graphs::Bare(..) => Numbering { is_of_events: true, ..Numbering::default() },
    };
    Judged { verdict, groups, numbering }
}

/// What the tasks and events of several ranks are called.
fn numbering(ranks: &[TaskGraph<'_>]) -> Numbering {
    let starts = |length: fn(&TaskGraph<'_>) -> usize| {
        let mut next = 0;
        let start = |graph| {
            let start = next;
            next += length(graph);
            start
        };
        ranks.iter().map(start).collect::<Vec<_>>()
    };
    Numbering {
        tasks: starts(|graph| graph.all_tasks.len()).into_iter().map(TaskId::at).collect(),
        counters: starts(|graph| graph.all_events.len()).into_iter().map(CounterId::at).collect(),
        is_of_events: true,
    }
}
