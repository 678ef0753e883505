//! `megakernel-adequacy`: an implementation with a fault, or a legitimate one, as a worker of the protocol.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use megakernel_adequacy::faults::{self, fault};
use megakernel_adequacy::kernels::{Kernels, Plain};
use megakernel_adequacy::variants::{self, variant};
use megakernel_adequacy::worker::Executor;
use megakernel_ir::protocol::Accumulator;
use megakernel_ir::terminal;

/// Faulty and legitimate implementations, by which the corpus is measured.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  cargo xtask conform --impl 'megakernel-adequacy worker --fault gqa-by-tile'\n  cargo xtask conform --impl 'megakernel-adequacy worker --variant 17'"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Answer the requests of the conformance runner on standard input (clauses CON-02 and CON-11)
    Worker {
        /// Make this mistake; `list` names them
        #[arg(long, value_name = "ID", conflicts_with = "variant")]
        fault: Option<String>,

        /// Use the freedoms of this legitimate variant; `list` describes them
        #[arg(long, value_name = "NUMBER")]
        variant: Option<usize>,
    },
    /// Print every fault and every variant
    List,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Worker { fault, variant } => worker(fault.as_deref(), variant),
        Command::List => list(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn worker(id: Option<&str>, number: Option<usize>) -> Result<(), String> {
    let variant =
        match number {
            Some(number) => Some(variant(number).ok_or_else(|| {
                format!("there is no variant {number}; they are 0 to {}", variants::COUNT - 1)
            })?),
            None => None,
        };
    let (name, kernels, accumulator): (String, &dyn Kernels, Accumulator) = match (id, &variant) {
        (Some(id), _) => {
            let fault =
                fault(id).ok_or_else(|| format!("there is no fault `{id}`; `list` names those there are"))?;
            (format!("fault {id}"), fault.kernels, fault.accumulator)
        }
        (None, Some(variant)) => {
            let accumulator =
                if variant.style.truncates() { Accumulator::Truncating } else { Accumulator::Binary32 };
            (format!("variant {}", variant.number), &variant.style, accumulator)
        }
        (None, None) => ("plain binary32".to_owned(), &Plain, Accumulator::Binary32),
    };
    let mut worker = Executor::new(name, kernels, accumulator);
    terminal::work(&mut worker)
}

fn list() -> Result<(), String> {
    let mut text = String::new();
    for fault in faults::ALL.iter() {
        text.push_str(&format!("{}: {}\n", fault.id, fault.summary));
    }
    for variant in variants::all() {
        text.push_str(&format!("variant {}: {}\n", variant.number, variant.summary()));
    }
    terminal::print(&text)
}
