//! `megakernel-conform verify`.

use std::path::PathBuf;

use megakernel_conformance::report::Refusal;
use megakernel_conformance::statement::Statement;

use super::{Done, Place, bytes, print};

/// Check a conformance statement against the report that it was made of (clause CON-16)
///
/// The report is checked against the corpus, too. What holds follows from the report. That a run wrote the report, and of whom, only another run shows.
#[derive(clap::Args)]
#[command(
    after_help = "Exit code: 0 if the statement holds, 1 if it does not, 2 if that cannot be said: another corpus, another version of the suite, no report."
)]
pub struct Args {
    /// A statement, as `statement` printed it
    statement: PathBuf,
    /// The report
    report: PathBuf,

    #[command(flatten)]
    place: Place,
}

/// Runs the command.
pub fn run(args: &Args) -> Done {
    let said = String::from_utf8(bytes(&args.statement)?).map_err(|cause| cause.to_string());
    let said = said.and_then(|text| Statement::read(&text));
    let said = said.map_err(|why| format!("{}: {why}", args.statement.display()))?;
    let report = bytes(&args.report)?;
    let corpus = args.place.load()?;
    let wrong = match Statement::new(&corpus, &report) {
        Ok(follows) => said.against(&follows),
        Err(why @ Refusal::Contradiction(_)) => vec![why.to_string()],
        Err(why) => return Err(format!("{}: {why}", args.report.display())),
    };
    if wrong.is_empty() {
        print(format!("the statement holds: {}\n", said.says))?;
        return Ok(0);
    }
    print(format!("the statement does not hold\n  {}\n", wrong.join("\n  ")))?;
    Ok(1)
}
