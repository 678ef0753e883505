//! The command `check-trace`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use megakernel_ir::read_value;
use megakernel_reference::commands::{Command, describe, options, validate};
use serde_json::Value;

use super::{trace, trace_of};

/// Whether a schedule covers a run.
pub const TRACE: Command = Command {
    describe: || describe::<Arguments>("check-trace"),
    run: |matches, _| options(matches).map_or_else(|code| code, |options: Arguments| run(&options)),
};

/// Say whether a schedule covers what happened in a run: each wait, access and signal.
///
/// Exits 0 if it does, 1 if it does not, 2 if a file cannot be read or the usage is wrong.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference check-trace schedule.json trace.json\n  megakernel-reference check-trace trace.json\n\nEvery rule is explained, with a smallest trace that breaks it, in spec/companions/schedule/rules/trace.md."
)]
struct Arguments {
    /// A schedule in the JSON format of spec/companions/schedule/format.md.
    #[arg(value_name = "SCHEDULE")]
    schedule: PathBuf,
    /// An object with the member `launches` of spec/companions/schedule/trace.md; without it, the schedule has the member.
    #[arg(value_name = "TRACE")]
    trace: Option<PathBuf>,
    /// Print one JSON object instead of text: files, verdict, diagnostics, groups, suppressed.
    #[arg(long)]
    json: bool,
    /// Show every finding, not only the first of those that say the same of other tasks.
    #[arg(long)]
    all: bool,
}

struct Traces;

fn run(arguments: &Arguments) -> ExitCode {
    let form = validate::Form { json: arguments.json, all: arguments.all };
    let files: Vec<PathBuf> =
        [Some(&arguments.schedule), arguments.trace.as_ref()].into_iter().flatten().cloned().collect();
    validate::run(&Traces, &files, form)
}

impl validate::Kind for Traces {
    const TOGETHER: bool = true;

    fn judge(&self, files: &[PathBuf], documents: &[Vec<u8>]) -> Result<validate::Judged, Vec<String>> {
        let [schedule, log] = documents else {
            return Ok(trace(documents.first().map(Vec::as_slice).unwrap_or_default()).into());
        };
        let read = |index: usize, document: &[u8]| -> Result<Value, Vec<String>> {
            let name = files.get(index).map(|file| file.display().to_string()).unwrap_or_default();
            read_value(document).map_err(|found| {
                found.into_iter().map(|found| format!("{name}: {}: {}", found.rule, found.message)).collect()
            })
        };
        let (schedule, log) = (read(0, schedule)?, read(1, log)?);
        if log.get("launches").is_none() {
            let name = files.last().map(|file| file.display().to_string()).unwrap_or_default();
            return Err(vec![format!(
                "{name}: a trace is an object with a member `launches`, which is missing"
            )]);
        }
        Ok(trace_of(&schedule, &log).into())
    }

    fn place<'p>(&self, files: usize, pointer: &'p str) -> (usize, &'p str) {
        (usize::from(files > 1 && pointer.starts_with("/launches")), pointer)
    }
}
