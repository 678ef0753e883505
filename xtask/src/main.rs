//! Commands of the suite. A command is one file that has `Args` and `run`; this one only tells them apart. What is not a chore of
//! the repository is another program, which is built and called.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

mod bundle;
mod ci;
mod codegen;
mod conform;
mod dist;
mod ledger;
mod records;
mod release_gate;
#[cfg(test)]
mod sabotages;
mod tidy;
mod tool;

/// Commands of the megakernel conformance suite.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Measure the corpus by implementations that are known to be wrong, and others that are known to be right
    #[command(disable_help_flag = true)]
    Adequacy(tool::Args),
    /// Compare validator, explorer and VM on programs at random
    #[command(disable_help_flag = true)]
    Agree(tool::Args),
    Bundle(bundle::Args),
    Ci(ci::Args),
    Codegen(codegen::Args),
    /// Judge an implementation: play the corpus to it and compare its answers with the declared ones
    #[command(disable_help_flag = true)]
    Conform(tool::Args),
    /// Generate the corpus of cases, check that it is up to date, count it, or print the document of a case
    #[command(disable_help_flag = true)]
    Corpus(tool::Args),
    Dist(dist::Args),
    /// Compare an implementation with the reference on documents that no case has
    #[command(disable_help_flag = true)]
    Fuzz(tool::Args),
    Ledger(ledger::Args),
    /// Compare the validator with an exploration of every interleaving, on every program of a scope
    #[command(disable_help_flag = true)]
    Prove(tool::Args),
    ReleaseGate(release_gate::Args),
    Tidy(tidy::Args),
}

fn main() -> ExitCode {
    match Command::parse() {
        Command::Adequacy(args) => tool::suite(&root(), "adequacy", &args),
        Command::Agree(args) => tool::suite(&root(), "agree", &args),
        Command::Bundle(args) => bundle::run(&root(), &args),
        Command::Ci(args) => ci::run(&root(), &args),
        Command::Codegen(args) => codegen::run(&root(), &args),
        Command::Conform(args) => conform::run(&root(), &args),
        Command::Corpus(args) => tool::suite(&root(), "corpus", &args),
        Command::Dist(args) => dist::run(&root(), &args),
        Command::Fuzz(args) => tool::suite(&root(), "fuzz", &args),
        Command::Ledger(args) => ledger::run(&root(), &args),
        Command::Prove(args) => tool::suite(&root(), "prove", &args),
        Command::ReleaseGate(args) => release_gate::run(&root(), &args),
        Command::Tidy(args) => tidy::run(&root(), &args),
    }
}

/// The root of the repository, absolute.
fn root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let manifest = PathBuf::from(manifest);
    manifest.parent().map(PathBuf::from).unwrap_or(manifest)
}

/// Writes to standard output. A reader that has seen enough, such as `head`, is no failure.
///
/// # Errors
/// It cannot be written.
fn print(text: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {cause}"))
        }
        _ => Ok(()),
    }
}
