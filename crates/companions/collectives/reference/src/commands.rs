//! The commands of collective algorithms: `validate-collective` and `simulate-collective`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use megakernel_ir::{Diagnostic, read_value};
use megakernel_reference::commands::replay::{Judged, Kind};
use megakernel_reference::commands::{Command, Companion, describe, finished, options, wrong};
use serde_json::Value;

use crate::answer::{Answered, Method, answer};
use crate::serve::diagnostic;

/// What this companion adds to the reference of programs.
pub static COMPANION: Companion =
    Companion { reference: || Box::new(crate::serve::Collectives), commands: COMMANDS, replay: &NoRuns };

const COMMANDS: &[Command] = &[
    Command {
        describe: || describe::<Validate>("validate-collective"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Validate| validate(&options)),
    },
    Command {
        describe: || describe::<Simulate>("simulate-collective"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Simulate| simulate(&options)),
    },
];

/// An execution of logs has no choices that could be replayed: all end alike.
struct NoRuns;

impl Kind for NoRuns {
    fn is_one(&self, _: &[u8]) -> bool {
        false
    }

    fn open<'d>(&self, _: &'d [Vec<u8>], files: &[String]) -> Result<Box<dyn Judged + 'd>, String> {
        Err(format!("{}: all executions of a collective algorithm end alike", files.join(" ")))
    }
}

/// Judge collective algorithms and descriptions of their modules (companion specification, COL-01).
#[derive(clap::Args)]
struct Validate {
    /// The documents
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// Run a collective algorithm on the tiles that it carries, and print those at the end (companion specification, COL-20).
#[derive(clap::Args)]
struct Simulate {
    /// The algorithm
    file: PathBuf,
}

/// Findings on standard error, as all commands show them.
fn shown(file: &Path, severity: &str, found: &[Diagnostic]) {
    for Diagnostic { rule, message, pointer, .. } in found {
        eprintln!("{severity}[{rule}]: {message}\n  --> {} {pointer}", file.display());
    }
}

/// The answer's document; findings go to standard error.
fn answered(method: Method, file: &Path) -> Result<Option<Value>, ExitCode> {
    let bytes = fs::read(file).map_err(|error| wrong(format_args!("{}: {error}", file.display())))?;
    let rejected = |found: &[Diagnostic]| {
        shown(file, "error", found);
        ExitCode::from(1)
    };
    let value = read_value(&bytes).map_err(|found| rejected(&found))?;
    match answer(method, &value) {
        Answered::Reject(found) => Err(rejected(&found.into_iter().map(diagnostic).collect::<Vec<_>>())),
        Answered::Accept { warnings, document } => {
            shown(file, "warning", &warnings.into_iter().map(diagnostic).collect::<Vec<_>>());
            Ok(document)
        }
    }
}

fn validate(options: &Validate) -> ExitCode {
    let mut worst = ExitCode::SUCCESS;
    for file in &options.files {
        match answered(Method::Validate, file) {
            Ok(_) => eprintln!("{}: accepted", file.display()),
            Err(code) => worst = code,
        }
    }
    worst
}

fn simulate(options: &Simulate) -> ExitCode {
    match answered(Method::Simulate, &options.file) {
        Ok(document) => {
            let text = format!("{}\n", document.unwrap_or_default());
            finished(std::io::stdout().lock().write_all(text.as_bytes()), 0)
        }
        Err(code) => code,
    }
}
