//! `megakernel-reference translate` and `megakernel-reference generate-code`.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use megakernel_ir::{Diagnostic, Layout, Source, terminal, write_record};
use megakernel_reference::commands::{Renderer, read_file, wrong};
use megakernel_task_graph::{Mode, Translation, read_kernel_graph};

use crate::codegen::generate;
use crate::translate::translate;

/// Translate a kernel graph into the task graph of one rank.
///
/// Exits 0 with the graph on standard output, 1 if it cannot be translated, 2 if the file cannot be read.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference translate decoder.json --mode sound > task_graph.json\n  megakernel-reference translate decoder.json --ranks 2 --rank 1 > task_graph_1.json\n\nThe format of kernel graphs, every mode and every rule: spec/companions/task-graph/translation.md."
)]
pub struct Arguments {
    #[command(flatten)]
    source: SourceArguments,
    /// The algorithm of mid 2025 or that of spring 2026, with their defects, or a graph that breaks no rule.
    #[arg(long, value_enum, default_value = "exact")]
    mode: ModeArgument,
}

/// Print the CUDA C++ of a kernel graph: variants, dispatcher, tables.
///
/// Exits as `translate` does.
#[derive(Args)]
pub struct GenerateArguments {
    #[command(flatten)]
    source: SourceArguments,
}

// No documentation: it would become that of both commands.
#[derive(Args)]
struct SourceArguments {
    /// A kernel graph.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Number of ranks, 1 to 8.
    #[arg(long, default_value_t = 1)]
    ranks: i64,
    /// The rank whose graph is wanted.
    #[arg(long, default_value_t = 0)]
    rank: i64,
}

#[derive(Clone, Copy, ValueEnum)]
enum ModeArgument {
    Exact,
    ExactCurrent,
    Sound,
}

/// Prints the task graph. Exit code 1 where the kernel graph cannot be translated, 2 where it cannot be read.
pub fn run(arguments: &Arguments) -> ExitCode {
    let mode = match arguments.mode {
        ModeArgument::Exact => Mode::Exact,
        ModeArgument::ExactCurrent => Mode::ExactCurrent,
        ModeArgument::Sound => Mode::Sound,
    };
    print(&arguments.source, mode, |request| {
        translate(request).map(|graph| write_record(&graph, Layout::Indent(2)))
    })
}

/// Prints the CUDA C++ source.
pub fn run_generate(arguments: &GenerateArguments) -> ExitCode {
    print(&arguments.source, Mode::Sound, generate)
}

fn print(
    arguments: &SourceArguments,
    mode: Mode,
    make: impl FnOnce(&Translation<'_>) -> Result<String, Vec<Diagnostic>>,
) -> ExitCode {
    let file = arguments.file.display().to_string();
    let bytes = match read_file(&arguments.file) {
        Ok(bytes) => bytes,
        Err(message) => return wrong(message),
    };
    let made = read_kernel_graph(&bytes).and_then(|kernel_graph| {
        let (ranks, rank) = (arguments.ranks, arguments.rank);
        make(&Translation { kernel_graph, ranks, rank, mode, extra: Vec::new() })
    });
    match made {
        Ok(text) => {
            terminal::print(&format!("{}\n", text.trim_end())).map_or_else(wrong, |()| ExitCode::SUCCESS)
        }
        Err(diagnostics) => {
            explain(&file, &bytes, diagnostics);
            ExitCode::from(1)
        }
    }
}

/// Shows what is wrong, in the file: pointers start at the request, of which the file is one member.
fn explain(file: &str, bytes: &[u8], diagnostics: Vec<Diagnostic>) {
    let text = String::from_utf8_lossy(bytes);
    let source = Source::new(&text);
    let renderer = Renderer::new(terminal::colours(&io::stderr()));
    for mut diagnostic in diagnostics {
        if let Some(inside) = diagnostic.pointer.strip_prefix("/kernel_graph") {
            diagnostic.pointer = inside.to_owned();
        }
        eprintln!("{}\n", renderer.render(file, &text, &source, &diagnostic));
    }
}
