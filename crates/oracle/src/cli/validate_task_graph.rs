//! `megakernel-reference validate-task-graph`.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use megakernel_ir::{Diagnostic, Source};
use megakernel_reference::validate::Verdict;
use megakernel_task_graph::{
    KernelGraph, System, TaskGraph, read_kernel_graph, read_system, read_task_graph,
};
use megakernel_task_graph_reference::validate::{Graphs, is_system, validate_graphs};
use serde_json::{Value, json};

use crate::cli::excerpt::Renderer;
use crate::cli::validate::count;

/// What the command line says.
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
    /// Print one JSON object instead of text: files, verdict, diagnostics, suppressed.
    #[arg(long)]
    json: bool,
}

/// Judges the files together.
pub fn run(arguments: &Arguments) -> ExitCode {
    let mut texts = Vec::new();
    for path in arguments.files.iter().chain(&arguments.kernel_graph) {
        match std::fs::read(path) {
            Ok(bytes) => texts.push(bytes),
            Err(error) => {
                eprintln!("error: cannot read {}: {error}", path.display());
                return ExitCode::from(2);
            }
        }
    }
    let (documents, kernel_graph) = texts.split_at(arguments.files.len());
    if documents.len() > 1
        && let Some(index) = documents.iter().position(|document| is_system(document))
    {
        let file = arguments.files.get(index).map(|file| file.display().to_string()).unwrap_or_default();
        eprintln!("error: {file} holds a system, which is judged alone; give one task graph a rank");
        return ExitCode::from(2);
    }
    let kernel_graph = match kernel_graph.first().map(|bytes| read_kernel_graph(bytes)) {
        None => None,
        Some(Ok(kernel_graph)) => Some(kernel_graph),
        Some(Err(diagnostics)) => {
            let file =
                arguments.kernel_graph.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
            for diagnostic in diagnostics {
                eprintln!("error: {file} is no kernel graph: {}: {}", diagnostic.pointer, diagnostic.message);
            }
            return ExitCode::from(2);
        }
    };
    let verdict = judge(documents, kernel_graph.as_ref());
    let out = &mut io::stdout().lock();
    let written = match arguments.json {
        true => write_json(out, &arguments.files, documents, &verdict),
        false => write_text(out, &arguments.files, documents, &verdict),
    };
    match written {
        Ok(()) => ExitCode::from(u8::from(!verdict.accepts())),
        // Whoever read the output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot write to standard output: {error}");
            ExitCode::from(2)
        }
    }
}

/// The verdict about one document, or about one a rank. Pointers are those of a system in the latter case.
fn judge(documents: &[Vec<u8>], kernel_graph: Option<&KernelGraph<'_>>) -> Verdict {
    match documents {
        [document] if is_system(document) => match read_system(document) {
            Ok(System { ranks, kernel_graph: own, .. }) => {
                validate_graphs(Graphs::System(&ranks, kernel_graph.or(own.as_ref())))
            }
            Err(diagnostics) => Verdict::of_unread(diagnostics),
        },
        [document] => match read_task_graph(document) {
            Ok(graph) => validate_graphs(Graphs::Bare(&graph, kernel_graph)),
            Err(diagnostics) => Verdict::of_unread(diagnostics),
        },
        _ => {
            let (mut ranks, mut wrong) = (Vec::<TaskGraph<'_>>::new(), Vec::new());
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
                true => validate_graphs(Graphs::System(&ranks, kernel_graph)),
                false => Verdict::of_unread(wrong),
            }
        }
    }
}

/// The file that a pointer leads into, and the pointer there.
fn place(files: usize, pointer: &str) -> (usize, &str) {
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

fn write_json(
    out: &mut dyn Write,
    files: &[PathBuf],
    documents: &[Vec<u8>],
    verdict: &Verdict,
) -> io::Result<()> {
    let sources = sources(documents, verdict);
    let diagnostics: Vec<Value> = verdict
        .diagnostics
        .iter()
        .map(|diagnostic| {
            let (index, pointer) = place(files.len(), &diagnostic.pointer);
            let source = sources.get(index).and_then(Option::as_ref);
            let position = diagnostic.position.or_else(|| source?.1.position(pointer));
            let mut value = json!(Diagnostic { position, ..diagnostic.clone() });
            if let (true, Some(file)) = (files.len() > 1, files.get(index)) {
                value["file"] = json!(file.display().to_string());
            }
            value
        })
        .collect();
    let suppressed: serde_json::Map<_, _> =
        verdict.suppressed.iter().map(|(rule, count)| (rule.id().to_owned(), json!(count))).collect();
    let line = json!({
        "files": files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
        "verdict": if verdict.accepts() { "accept" } else { "reject" },
        "diagnostics": diagnostics,
        "suppressed": suppressed,
    });
    writeln!(out, "{line}")
}

/// The text of each file, with what finds places in it; nothing where no diagnostic needs it.
fn sources<'d>(documents: &'d [Vec<u8>], verdict: &Verdict) -> Vec<Option<(&'d str, Source<'d>)>> {
    let mut is_needed = vec![false; documents.len()];
    for diagnostic in &verdict.diagnostics {
        if let Some(needed) = is_needed.get_mut(place(documents.len(), &diagnostic.pointer).0) {
            *needed = true;
        }
    }
    let source = |(document, needed): (&'d Vec<u8>, bool)| {
        let text = std::str::from_utf8(document).unwrap_or_default();
        needed.then(|| (text, Source::new(text)))
    };
    documents.iter().zip(is_needed).map(source).collect()
}

fn write_text(
    out: &mut dyn Write,
    files: &[PathBuf],
    documents: &[Vec<u8>],
    verdict: &Verdict,
) -> io::Result<()> {
    let renderer = Renderer::new(io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none());
    let name = |index: usize| {
        files.get(index).map(|file: &PathBuf| Path::display(file).to_string()).unwrap_or_default()
    };
    let all = (0..files.len()).map(name).collect::<Vec<_>>().join(" ");
    let sources = sources(documents, verdict);
    for diagnostic in &verdict.diagnostics {
        let (index, pointer) = place(files.len(), &diagnostic.pointer);
        let own = Diagnostic { pointer: pointer.to_owned(), ..diagnostic.clone() };
        if let Some(Some((text, source))) = sources.get(index) {
            writeln!(out, "{}\n", renderer.render(&name(index), text, source, &own))?;
        }
    }
    for (rule, count) in &verdict.suppressed {
        writeln!(out, "{all}: {count} or more further diagnostics of {rule} {} are not shown", rule.slug())?;
    }
    let word = if verdict.accepts() { "accepted" } else { "rejected" };
    let errors = verdict.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let warnings = verdict.diagnostics.len() - errors;
    writeln!(out, "{all}: {word}, {} and {}", count(errors, "error"), count(warnings, "warning"))
}
