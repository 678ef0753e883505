//! `megakernel-reference`: the references of programs and of companions, for people (`validate`, `replay`, `run` and the commands
//! of companions) and for the runner (`worker`, `oracle`).

mod companions;

use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use megakernel_ir::companion::{Composed, Reference};
use megakernel_ir::{input, terminal};
use megakernel_reference::answer::Programs;
use megakernel_reference::commands::{self, describe, wrong};
use megakernel_reference::oracle;

use companions::COMPANIONS;

/// Reference validator and VM of the AMK IR.
///
/// Says of a megakernel program whether it can hang, race, or leave its memory, by the rules in spec/; and runs it.
#[derive(Parser)]
#[command(
    name = "megakernel-reference",
    version,
    after_help = "Examples:\n  megakernel-reference validate program.json\n  megakernel-reference validate --profile launch --json programs/*.json\n  megakernel-reference run program.json --random 1\n  cargo xtask conform --impl 'megakernel-reference worker'",
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Cli {
    /// The largest file that is read, in bytes.
    #[arg(long, global = true, value_name = "BYTES", default_value_t = input::LIMIT)]
    max_size: u64,
}

/// Answer the requests of the conformance runner on standard input (clauses CON-02 and CON-03).
#[derive(clap::Args)]
struct Worker;

/// Say for the runner what each task of a launch should write, so that it can judge traces.
///
/// It speaks the messages of docs/oracle.md on standard input and output, and is not meant for people.
#[derive(clap::Args)]
struct Oracle;

fn main() -> ExitCode {
    let all: Vec<&commands::Command> =
        commands::COMMANDS.iter().chain(COMPANIONS.iter().flat_map(|companion| companion.commands)).collect();
    let described: Vec<clap::Command> = all.iter().map(|command| (command.describe)()).collect();
    let names: Vec<String> = described.iter().map(|command| command.get_name().to_owned()).collect();
    let cli = Cli::command()
        .subcommands(described)
        .subcommand(describe::<Worker>("worker"))
        .subcommand(describe::<Oracle>("oracle"));
    let matches = cli.get_matches();
    input::set_limit(matches.get_one("max_size").copied().unwrap_or(input::LIMIT));
    let Some((name, options)) = matches.subcommand() else { return ExitCode::from(2) };
    let spoken = match (names.iter().position(|known| known == name), name) {
        (Some(index), _) => return (all[index].run)(options, COMPANIONS),
        (None, "oracle") => {
            let mut output = io::BufWriter::new(io::stdout().lock());
            terminal::spoken(oracle::serve(&mut io::stdin().lock(), &mut output))
        }
        (None, _) => terminal::work(&mut worker()),
    };
    spoken.map_or_else(wrong, |()| ExitCode::SUCCESS)
}

/// The references of programs and of the companions as a worker of the protocol: judged like anyone's program.
fn worker() -> Composed {
    let mut references: Vec<Box<dyn Reference>> = vec![Box::new(Programs)];
    references.extend(COMPANIONS.iter().map(|companion| (companion.reference)()));
    Composed::new("megakernel-reference", env!("CARGO_PKG_VERSION"), references)
        .with_traces()
        .naming_every_rule()
}
