//! `megakernel-conform merge`.

use std::path::PathBuf;

use megakernel_conformance::terminal::{self, Style};
use megakernel_conformance::{junit, report};

use super::run::{keep, write};
use super::{Done, Place, print};

/// Put the reports of all shards of a run together: the report that the whole run would have given
///
/// The reports have to be of one implementation and one selection, judged by this corpus and this version of the suite; each shard has
/// to be there once, and whole.
#[derive(clap::Args)]
#[command(
    after_help = "Exit code: as that of `run`; 2 if the reports are not those of all shards of one run."
)]
pub struct Args {
    /// The reports, as `run --shard I/N --json FILE` wrote them
    #[arg(required = true, value_name = "REPORT")]
    reports: Vec<PathBuf>,

    /// Write the whole report to this file as JSON as well
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write it to this file as JUnit's XML as well
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Print a failure in full of at most so many causes
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,

    /// Print the tables whole
    #[arg(long)]
    tables: bool,

    #[command(flatten)]
    place: Place,
}

/// Runs the command.
pub fn run(args: &Args) -> Done {
    let corpus = args.place.load()?;
    let mut reports = Vec::new();
    for path in &args.reports {
        reports.push((path.display().to_string(), super::report(path)?));
    }
    let whole = report::merge(&corpus, &reports)?;
    let style = Style { causes: Some(args.limit), tables: args.tables, ..Style::detect() };
    print(terminal::render(&whole, &style))?;
    if let Some(path) = &args.json {
        keep(path, whole.to_json())?;
    }
    if let Some(path) = &args.junit {
        write(path, &junit::render(&whole))?;
    }
    Ok(whole.exit_code())
}
