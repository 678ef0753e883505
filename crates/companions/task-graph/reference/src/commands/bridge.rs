//! `megakernel-reference import-task-graph` and `export-task-graph`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use megakernel_ir::{Diagnostic, Layout, read, terminal, write};
use megakernel_reference::commands::{read_file, wrong};
use megakernel_task_graph::{read_kernel_graph, read_task_graph};

use crate::bridge::{Options, Refusal, Run, export, import};

/// Turn MPK task graphs into a program, which goes to standard output (clause TGR-18).
///
/// Exits 0 if it did, 1 if tasks have no counterpart, with the reasons, 2 if a file is missing or wrong.
#[derive(Args)]
#[command(after_help = "\
The kernel graph says how large tensors are, which the host can see, and the parameters of operators: eps, theta, scale.

Examples:
  megakernel-reference import-task-graph task_graph.json --kernel-graph kernel_graph.json --binding binding.json > program.json
  megakernel-reference import-task-graph batch.json --kernel-graph kernel_graph.json --run run.json > program.json
  megakernel-reference import-task-graph rank0.json rank1.json --kernel-graph kernel_graph.json | megakernel-reference validate /dev/stdin

A run, of which either member can be left out:
  {\"requests\": [{\"tokens\": 1, \"position\": 7, \"pages\": [3]}], \"routing\": [[[5, 2]]]}")]
pub struct ImportArguments {
    /// The task graphs of all ranks, in order.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The kernel graph that they were translated from.
    #[arg(long, value_name = "FILE")]
    kernel_graph: PathBuf,
    /// Write here which part of which tensor each buffer of the program holds.
    #[arg(long, value_name = "FILE")]
    binding: Option<PathBuf>,
    /// The position of the token: how many the caches hold.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    position: i64,
    /// What is known of the run, as JSON: `requests` of a batch with their `tokens`, `position` and `pages`, and the `routing` of
    /// experts.
    #[arg(long, value_name = "FILE")]
    run: Option<PathBuf>,
    /// Put all tasks into one queue, as one worker would: then descending ids are a deadlock.
    #[arg(long)]
    one_queue: bool,
}

/// Turn a program into an MPK task graph, which goes to standard output (clause TGR-19).
///
/// Exits 0 if it did, 1 if the program has no counterpart, with the reasons, 2 if the file is missing or wrong.
#[derive(Args)]
pub struct ExportArguments {
    /// A program in the JSON format of spec/format.md.
    #[arg(value_name = "PROGRAM")]
    program: PathBuf,
}

/// Why there is no result.
enum Failure {
    /// It has no counterpart: exit code 1.
    Refused(String),
    /// A file or the usage is wrong: exit code 2.
    Use(String),
}

/// Writes the program to standard output. 0: imported; 1: refused; 2: a file is missing or wrong.
pub fn run_import(arguments: &ImportArguments) -> ExitCode {
    finish(try_import(arguments))
}

/// Writes the task graph to standard output. 0: exported; 1: refused; 2: a file is missing or wrong.
pub fn run_export(arguments: &ExportArguments) -> ExitCode {
    finish(try_export(arguments))
}

fn finish(result: Result<String, Failure>) -> ExitCode {
    match result.and_then(|text| terminal::print(&format!("{text}\n")).map_err(Failure::Use)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Refused(message)) => {
            eprintln!("{message}");
            ExitCode::from(1)
        }
        Err(Failure::Use(message)) => wrong(message),
    }
}

fn try_import(arguments: &ImportArguments) -> Result<String, Failure> {
    let bytes: Vec<Vec<u8>> = arguments.files.iter().map(|path| file(path)).collect::<Result<_, _>>()?;
    let mut graphs = Vec::new();
    for (path, bytes) in arguments.files.iter().zip(&bytes) {
        graphs.push(read_task_graph(bytes).map_err(|found| unreadable(path, "task graph", &found))?);
    }
    let kernel = file(&arguments.kernel_graph)?;
    let kernel = read_kernel_graph(&kernel)
        .map_err(|found| unreadable(&arguments.kernel_graph, "kernel graph", &found))?;
    let run = match &arguments.run {
        Some(path) => Run::read(&file(path)?)
            .map_err(|reason| Failure::Use(format!("{} is no run: {reason}", path.display())))?,
        None => Run::default(),
    };
    let options = Options { position: arguments.position, one_queue: arguments.one_queue, run };
    let graphs: Vec<_> = graphs.iter().collect();
    let imported = import(&graphs, &kernel, &options).map_err(|refusals| {
        let name = |found: &Refusal| {
            arguments.files.get(found.rank).map_or(String::new(), |path| path.display().to_string())
        };
        refused(&refusals, &name)
    })?;
    if let Some(path) = &arguments.binding {
        let text = format!("{:#}\n", imported.binding.to_json());
        std::fs::write(path, text)
            .map_err(|error| Failure::Use(format!("cannot write {}: {error}", path.display())))?;
    }
    match read(imported.program.as_bytes()) {
        Ok(program) => Ok(write(&program, Layout::Indent(1))),
        Err(_) => Ok(imported.program),
    }
}

fn try_export(arguments: &ExportArguments) -> Result<String, Failure> {
    let bytes = file(&arguments.program)?;
    let program = read(&bytes).map_err(|found| unreadable(&arguments.program, "program", &found))?;
    let name = |_: &Refusal| arguments.program.display().to_string();
    export(&program).map_err(|refusals| refused(&refusals, &name))
}

fn file(path: &Path) -> Result<Vec<u8>, Failure> {
    read_file(path).map_err(Failure::Use)
}

fn unreadable(path: &Path, what: &str, found: &[Diagnostic]) -> Failure {
    let mut text = format!("{} is no {what}", path.display());
    for diagnostic in found.iter().take(5) {
        text.push_str(&format!("\n  {} at {}: {}", diagnostic.rule, diagnostic.pointer, diagnostic.message));
    }
    Failure::Use(text)
}

/// How many refusals are shown one by one.
const SHOWN: usize = 20;

fn refused(refusals: &[Refusal], file: &dyn Fn(&Refusal) -> String) -> Failure {
    let mut lines: Vec<String> =
        refusals.iter().take(SHOWN).map(|found| format!("{}: {found}", file(found))).collect();
    if refusals.len() > SHOWN {
        lines.push(format!("and {} more", refusals.len() - SHOWN));
    }
    Failure::Refused(lines.join("\n"))
}
