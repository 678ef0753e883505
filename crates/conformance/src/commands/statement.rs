//! `megakernel-conform statement`.

use std::path::PathBuf;

use megakernel_conformance::statement::Statement;

use super::{Done, Place, bytes, print};

/// Print what a report comes to, as a conformance statement that can be published (clause CON-16)
///
/// It says, as JSON, who conforms to what, whole or in which part; `verify` checks it against the report. It is made only of the report
/// of a whole run of this corpus, and only if the report follows from what it lists.
#[derive(clap::Args)]
#[command(
    after_help = "Exit code: 0 if there is a statement, whatever it says; 2 if the report is none that one is made of."
)]
pub struct Args {
    /// A report, as `run --json FILE` or `merge --json FILE` wrote it
    report: PathBuf,

    #[command(flatten)]
    place: Place,
}

/// Runs the command.
pub fn run(args: &Args) -> Done {
    let report = bytes(&args.report)?;
    let corpus = args.place.load()?;
    let statement =
        Statement::new(&corpus, &report).map_err(|why| format!("{}: {why}", args.report.display()))?;
    print(statement.to_json().map_err(|cause| cause.to_string())?)?;
    Ok(0)
}
