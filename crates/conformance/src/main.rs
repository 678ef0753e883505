//! `megakernel-conform`: judges an implementation, and shows the cases by which it does. A command is one file below `commands`
//! that has `Args` and `run`.

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

mod commands;

use commands::{
    Done, compare, completion, document, evidence, explain, export, list, manual, merge, repro, run,
    statement, verify, watch,
};

const EXAMPLES: &str = "\
Examples:
  megakernel-conform run --impl ./my-vm
      judge a program that speaks the protocol of spec/conformance.md on its standard input and output
  megakernel-conform list --filter 'race/*'
      the cases whose id begins with race/
  megakernel-conform document race/first-k-of-n/fan-in-nops-3-1-of-3
      the bytes that a worker is sent for a case
  megakernel-conform explain R01
      what the specification says under a rule or clause
  megakernel-conform repro race/first-k-of-n/fan-in-nops-3-1-of-3 failed
      a case as files, with a script that plays it to a worker without the suite
  megakernel-conform watch --impl ./my-vm race/first-k-of-n/fan-in-nops-3-1-of-3
      play a case each time that the program changes, and say what changed
  megakernel-conform compare yesterday.json today.json
      what differs between two reports
  megakernel-conform statement today.json
      who conforms to what, in a form that can be published and that `verify` checks
  megakernel-conform export cases --profile validate
      cases as plain files, for a test of one's own

The cases are read from a directory, the corpus. It is the one that --corpus names, or else the environment variable
MEGAKERNEL_CORPUS; or else what lies beside this program, as `corpus` or `../share/megakernel/corpus`; or else the `corpus` of
the current directory, of one above it, or of the repository that this program was built in.";

/// The runner of the megakernel conformance suite.
///
/// It plays cases to an implementation, which is a process, and compares its answers with the declared ones.
#[derive(Parser)]
#[command(name = "megakernel-conform", version, after_help = EXAMPLES)]
enum Command {
    Run(Box<run::Args>),
    Watch(watch::Args),
    Merge(merge::Args),
    Compare(compare::Args),
    Statement(statement::Args),
    Verify(verify::Args),
    Explain(explain::Args),
    Repro(repro::Args),
    List(list::Args),
    Document(document::Args),
    Export(export::Args),
    Evidence(evidence::Args),
    Completion(completion::Args),
    Manual(manual::Args),
}

fn main() -> ExitCode {
    let done: Done = match Command::parse() {
        Command::Run(args) => run::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Statement(args) => statement::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Repro(args) => repro::run(&args),
        Command::List(args) => list::run(&args),
        Command::Document(args) => document::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Evidence(args) => evidence::run(&args),
        Command::Completion(args) => completion::run(&args, Command::command()),
        Command::Manual(args) => manual::run(&args, Command::command()),
    };
    done.map_or_else(
        |message| {
            eprintln!("error: {message}");
            ExitCode::from(2)
        },
        ExitCode::from,
    )
}
