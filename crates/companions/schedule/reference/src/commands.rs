//! The commands of schedules: `validate-schedule`, `to-schedule`, `lower-schedule`, and those of [`crate::mend`] and of [`crate::trace`].

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use megakernel_ir::terminal;
use megakernel_reference::commands::{Command, Companion, describe, options, read_file, validate, wrong};
use serde_json::Value;

use crate::{Schedules, convert, lower, mend, picture, replay, trace};

/// What this companion adds to the reference of programs.
pub static COMPANION: Companion =
    Companion { reference: || Box::new(Schedules), commands: COMMANDS, replay: Some(&replay::Schedules) };

const VALIDATE: Command = Command {
    describe: || describe::<Arguments>("validate-schedule"),
    run: |matches, _| options(matches).map_or_else(|code| code, |options: Arguments| run(&options)),
};

const TO_SCHEDULE: Command = Command {
    describe: || describe::<ToSchedule>("to-schedule"),
    run: |matches, _| options(matches).map_or_else(|code| code, |options: ToSchedule| to_schedule(&options)),
};

const LOWER: Command = Command {
    describe: || describe::<Lower>("lower-schedule"),
    run: |matches, _| options(matches).map_or_else(|code| code, |options: Lower| lowered(&options)),
};

const COMMANDS: &[Command] =
    &[VALIDATE, mend::REPAIR, mend::MINIMISE, picture::DRAW, TO_SCHEDULE, LOWER, trace::command::TRACE];

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

/// Write a program or task graphs as a schedule, to standard output (clauses SCH-15 and SCH-16).
///
/// Exits 0 if it did, 1 if there is no such schedule, with the reason, 2 if a file cannot be read or the usage is wrong.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference to-schedule program.json > schedule.json\n  megakernel-reference to-schedule rank0.json rank1.json > schedule.json\n\nWhat becomes of what, spec/companions/schedule/conversion.md says."
)]
struct ToSchedule {
    /// A program, a task graph or a system; or the task graphs of all ranks in their order.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Write a schedule as a program that breaks the same rules, to standard output (clause SCH-15).
///
/// Each access becomes a task that copies a byte, and each signal a task that does nothing: what the program computes means nothing. Exits 0 if it
/// did, 1 if a program cannot say what the schedule does, with the reason, 2 if the file cannot be read or the usage is wrong.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference lower-schedule schedule.json > program.json\n  megakernel-reference validate program.json\n\nWhat becomes of what, spec/companions/schedule/conversion.md says."
)]
struct Lower {
    /// A schedule in the JSON format of spec/companions/schedule/format.md.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

fn lowered(options: &Lower) -> ExitCode {
    let program = match read_file(&options.file) {
        Ok(document) => lower(&document),
        Err(message) => return wrong(message),
    };
    say(&options.file, program)
}

/// Prints a document, or why there is none.
fn say(file: &Path, document: Result<Value, String>) -> ExitCode {
    match document {
        Ok(document) => match terminal::print(&format!("{document}\n")) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => wrong(message),
        },
        Err(message) => {
            eprintln!("{}: {message}", file.display());
            ExitCode::from(1)
        }
    }
}

fn to_schedule(options: &ToSchedule) -> ExitCode {
    let documents: Result<Vec<_>, _> = options.files.iter().map(|file| read_file(file)).collect();
    let converted = match documents {
        Ok(documents) => convert(&documents),
        Err(message) => return wrong(message),
    };
    say(&options.files[0], converted)
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
