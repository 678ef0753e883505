//! The commands of schedules: `validate-schedule`, and those of [`crate::mend`].

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use megakernel_reference::commands::{Command, Companion, describe, options, validate};

use crate::{Schedules, mend};

/// What this companion adds to the reference of programs.
pub static COMPANION: Companion =
    Companion { reference: || Box::new(Schedules), commands: COMMANDS, replay: None };

const VALIDATE: Command = Command {
    describe: || describe::<Arguments>("validate-schedule"),
    run: |matches, _| options(matches).map_or_else(|code| code, |options: Arguments| run(&options)),
};

const COMMANDS: &[Command] = &[VALIDATE, mend::REPAIR, mend::MINIMISE];

/// Judge the schedule of a megakernel runtime: its events, footprints and queues.
///
/// Exits 0 if it is accepted, 1 if it is rejected, 2 if the file cannot be read or the usage is wrong.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference validate-schedule schedule.json\n  megakernel-reference validate-schedule --json schedule.json | jq .verdict\n\nEvery rule is explained, with a smallest failing schedule, in spec/companions/schedule/rules.md."
)]
struct Arguments {
    /// A schedule in the JSON format of spec/companions/schedule/format.md.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print one JSON object instead of text: files, verdict, diagnostics, groups, suppressed.
    #[arg(long)]
    json: bool,
    /// Show every finding, not only the first of those that say the same of other tasks.
    #[arg(long)]
    all: bool,
}

fn run(arguments: &Arguments) -> ExitCode {
    let form = validate::Form { json: arguments.json, all: arguments.all };
    validate::run(&Schedules, std::slice::from_ref(&arguments.file), form)
}

impl validate::Kind for Schedules {
    const TOGETHER: bool = true;

    fn judge(&self, _: &[PathBuf], documents: &[Vec<u8>]) -> Result<validate::Judged, Vec<String>> {
        Ok(crate::validate(documents.first().map(Vec::as_slice).unwrap_or_default()).into())
    }
}
