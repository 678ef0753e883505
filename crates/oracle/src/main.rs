//! `megakernel-reference`: the reference for people (`validate`, `replay`, `run`) and for the runner (`worker`).

mod cli;
mod worker;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use megakernel_ir::protocol::serve;
use megakernel_reference::oracle;

use worker::Reference;

/// Reference validator and VM of the AMK IR.
///
/// Says of a megakernel program whether it can hang, race, or leave its memory, by the rules in spec/; and runs it.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  megakernel-reference validate program.json\n  megakernel-reference validate --profile launch --json programs/*.json\n  megakernel-reference run program.json --random 1\n  cargo xtask conform --impl 'megakernel-reference worker'"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Judge programs and show what is wrong with them, with the place in the file.
    ///
    /// Exits 0 if every file is accepted, 1 if any is rejected, 2 if one cannot be read or the usage is wrong.
    Validate(cli::validate::Arguments),
    /// Run a rejected program the way that goes wrong, step by step, for each finding about its execution.
    ///
    /// Exits 0 if every witness leads to what it says, 1 if one does not, 2 if the file holds no program that could run.
    Replay(cli::replay::Arguments),
    /// Run a program on tensors from files or random ones, in any order that its counters and queues allow.
    ///
    /// Exits 0 if it ran to its end, 1 if it is rejected or something went wrong while running, 2 if a file or a tensor is
    /// missing or wrong.
    Run(cli::run::Arguments),
    /// Judge MPK task graphs, several files together as the ranks of one system.
    ///
    /// Exits 0 if they are accepted, 1 if they are rejected, 2 if a file cannot be read or the usage is wrong.
    ValidateTaskGraph(cli::validate_task_graph::Arguments),
    /// Translate a kernel graph into the task graph of one rank.
    ///
    /// Exits 0 with the graph on standard output, 1 if it cannot be translated, 2 if the file cannot be read.
    Translate(cli::translate::Arguments),
    /// Print the CUDA C++ of a kernel graph: variants, dispatcher, tables.
    ///
    /// Exits as `translate` does.
    GenerateCode(cli::translate::SourceArguments),
    /// Turn MPK task graphs into a program, which goes to standard output (clause TGR-18).
    ///
    /// Exits 0 if it did, 1 if tasks have no counterpart, with the reasons, 2 if a file is missing or wrong.
    ImportTaskGraph(cli::bridge::ImportArguments),
    /// Turn a program into an MPK task graph, which goes to standard output (clause TGR-19).
    ///
    /// Exits 0 if it did, 1 if the program has no counterpart, with the reasons, 2 if the file is missing or wrong.
    ExportTaskGraph(cli::bridge::ExportArguments),
    /// Answer the requests of the conformance runner on standard input (clauses CON-02 and CON-03).
    Worker,
    /// Say for the runner what each task of a launch should write, so that it can judge traces.
    ///
    /// It speaks the messages of docs/oracle.md on standard input and output, and is not meant for people.
    Oracle,
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Validate(arguments) => cli::validate::run(&arguments),
        Command::Replay(arguments) => cli::replay::run(&arguments),
        Command::Run(arguments) => cli::run::run(&arguments),
        Command::ValidateTaskGraph(arguments) => cli::validate_task_graph::run(&arguments),
        Command::Translate(arguments) => cli::translate::run(&arguments),
        Command::GenerateCode(arguments) => cli::translate::run_generate(&arguments),
        Command::ImportTaskGraph(arguments) => cli::bridge::run_import(&arguments),
        Command::ExportTaskGraph(arguments) => cli::bridge::run_export(&arguments),
        Command::Worker => served(serve(&mut Reference, &mut io::stdin().lock(), &mut io::stdout().lock())),
        Command::Oracle => {
            let mut output = io::BufWriter::new(io::stdout().lock());
            served(oracle::serve(&mut io::stdin().lock(), &mut output))
        }
    }
}

fn served(result: io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // The runner has closed the pipe: nobody is left to be told.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: standard input or output failed: {error}");
            ExitCode::from(2)
        }
    }
}
