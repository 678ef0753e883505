//! The commands of collective algorithms: `validate-collective` and `simulate-collective`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use megakernel_ir::{Diagnostic, read_value};
use megakernel_reference::commands::{
    Command, Companion, describe, finished, options, read_file, validate, wrong,
};

use crate::answer::{Answered, Method, answer};

/// What this companion adds to the reference of programs. All executions of an algorithm end alike: there is nothing to replay.
pub static COMPANION: Companion =
    Companion { reference: || Box::new(crate::serve::Collectives), commands: COMMANDS, replay: None };

const COMMANDS: &[Command] = &[
    Command {
        describe: || describe::<Validate>("validate-collective"),
        run: |matches, _| {
            options(matches).map_or_else(
                |code| code,
                |Validate { files, json, all }: Validate| {
                    validate::run(&Documents, &files, validate::Form { json, all })
                },
            )
        },
    },
    Command {
        describe: || describe::<Simulate>("simulate-collective"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Simulate| simulate(&options)),
    },
];

/// Judge collective algorithms and descriptions of their modules (companion specification, COL-01).
///
/// Exits 0 if every document is accepted, 1 if one is rejected, 2 if a file cannot be read or the usage is wrong.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference validate-collective ring.json\n  megakernel-reference validate-collective --json ring.json | jq .verdict\n\nEvery rule is explained, with a smallest failing algorithm, in spec/companions/collectives/rules.md."
)]
struct Validate {
    /// The documents, in the JSON format of spec/companions/collectives/format.md or modules.md
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print one JSON object for each document instead of text: files, verdict, diagnostics, groups, suppressed
    #[arg(long)]
    json: bool,
    /// Show every finding, not only the first of those that say the same of other places
    #[arg(long)]
    all: bool,
}

/// Run a collective algorithm on the tiles that it carries, and print those at the end (companion specification, COL-20).
#[derive(clap::Args)]
struct Simulate {
    /// The algorithm
    file: PathBuf,
}

/// Judges each file by itself.
struct Documents;

impl validate::Kind for Documents {
    const TOGETHER: bool = false;

    fn judge(&self, _: &[PathBuf], documents: &[Vec<u8>]) -> Result<validate::Judged, Vec<String>> {
        let document = documents.first().map(Vec::as_slice).unwrap_or_default();
        let found = match read_value(document).map(|value| answer(Method::Validate, &value)) {
            Err(found) => found,
            Ok(Answered::Accept { warnings: found, .. } | Answered::Reject(found)) => {
                found.into_iter().map(Diagnostic::from).collect()
            }
        };
        Ok(found.into())
    }
}

fn simulate(options: &Simulate) -> ExitCode {
    let document = match read_file(&options.file) {
        Ok(document) => document,
        Err(message) => return wrong(message),
    };
    let answered = read_value(&document).map(|value| answer(Method::Simulate, &value));
    let (severity, found, simulated) = match answered {
        Err(found) => ("error", found, None),
        Ok(Answered::Reject(found)) => ("error", found.into_iter().map(Diagnostic::from).collect(), None),
        Ok(Answered::Accept { warnings, document }) => {
            ("warning", warnings.into_iter().map(Diagnostic::from).collect(), document)
        }
    };
    for Diagnostic { rule, message, pointer, .. } in &found {
        eprintln!("{severity}[{rule}]: {message}\n  --> {} {pointer}", options.file.display());
    }
    match simulated {
        Some(tiles) => finished(std::io::stdout().lock().write_all(format!("{tiles}\n").as_bytes()), 0),
        None => ExitCode::from(1),
    }
}
