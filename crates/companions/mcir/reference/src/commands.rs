//! The commands of memory-centric IR: `validate-mcir` and `measure-mcir`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use megakernel_reference::commands::{
    Command, Companion, describe, finished, options, read_file, validate, wrong,
};

use crate::Mcir;
use crate::measure::measure_document;
use crate::validate::read_document;

/// What this companion adds to the reference of programs.
pub static COMPANION: Companion =
    Companion { reference: || Box::new(Mcir), commands: COMMANDS, replay: None };

const COMMANDS: &[Command] = &[
    Command {
        describe: || describe::<Validate>("validate-mcir"),
        run: |matches, _| {
            options(matches).map_or_else(
                |code| code,
                |Validate { files, json, all }: Validate| {
                    validate::run(&Mcir, &files, validate::Form { json, all })
                },
            )
        },
    },
    Command {
        describe: || describe::<Measure>("measure-mcir"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Measure| measure(&options)),
    },
];

/// Judge memory-centric IR: tiles, streams, prefetches, residency and what is stored.
///
/// Exits 0 if every document is accepted, 1 if one is rejected, 2 if a file cannot be read or the usage is wrong.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference validate-mcir attention.json\n  megakernel-reference validate-mcir --json attention.json | jq .verdict\n\nEvery rule is explained, with a smallest failing document, in spec/companions/mcir/rules.md."
)]
struct Validate {
    /// The documents, in the JSON format of spec/companions/mcir/format.md
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print one JSON object for each document instead of text: files, verdict, diagnostics, groups, suppressed
    #[arg(long)]
    json: bool,
    /// Show every finding, not only the first of those that say the same of other places
    #[arg(long)]
    all: bool,
}

/// Print what a document of memory-centric IR moves, computes and holds on chip (companion specification, MCI-15).
#[derive(Args)]
struct Measure {
    /// The document
    file: PathBuf,
}

impl validate::Kind for Mcir {
    const TOGETHER: bool = false;

    fn judge(&self, _: &[PathBuf], documents: &[Vec<u8>]) -> Result<validate::Judged, Vec<String>> {
        Ok(crate::validate(documents.first().map(Vec::as_slice).unwrap_or_default()).into())
    }
}

fn measure(options: &Measure) -> ExitCode {
    let text = match read_file(&options.file) {
        Ok(text) => text,
        Err(message) => return wrong(message),
    };
    let (found, measures) = match read_document(&text) {
        Ok(document) => measure_document(&document),
        Err(found) => (found, None),
    };
    for found in &found {
        let severity = if found.is_error() { "error" } else { "warning" };
        eprintln!(
            "{severity}[{}]: {}\n  --> {} {}",
            found.rule,
            found.message,
            options.file.display(),
            found.pointer
        );
    }
    match measures {
        Some(measures) => finished(std::io::stdout().lock().write_all(format!("{measures}\n").as_bytes()), 0),
        None => ExitCode::from(1),
    }
}
