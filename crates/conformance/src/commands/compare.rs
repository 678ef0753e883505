//! `megakernel-conform compare`.

use std::path::PathBuf;

use megakernel_conformance::compare::Comparison;
use megakernel_conformance::html;
use megakernel_conformance::report::{Report, RunVerdict};

use super::run::keep;
use super::{Done, Place, print};

/// Show reports side by side: runs, implementations, or versions of the suite
///
/// Of the first with each other one: profiles with both verdicts, rules, clauses, opcodes and dtypes of which another number of cases fails,
/// and the cases that fail in one of them alone.
#[derive(clap::Args)]
#[command(
    after_help = "Exit code: 0 if nothing fails in another report that does not fail in A, 1 if something does, or if another does not conform and A does not say so of itself, 2 if they cannot be compared."
)]
pub struct Args {
    /// A report, as `run --json FILE` wrote it
    a: PathBuf,
    /// Others, each of which is compared with it as B
    #[arg(required = true, value_name = "B")]
    others: Vec<PathBuf>,

    /// Write all of them to this file as one page of HTML as well: cases as rows, by profile, rule or opcode, and runs as columns. Needs the
    /// corpus, which says what passed
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    place: Place,
}

/// Runs the command.
pub fn run(args: &Args) -> Done {
    let mut reports = Vec::new();
    for path in [&args.a].into_iter().chain(&args.others) {
        reports.push((path.display().to_string(), super::report(path)?));
    }
    let sides: Vec<(&str, &Report)> = reports.iter().map(|(name, report)| (name.as_str(), report)).collect();
    let Some((&a, others)) = sides.split_first() else { return Ok(0) };
    let mut worse = false;
    for (at, &b) in others.iter().enumerate() {
        let comparison = Comparison::new(a, b);
        print(if at > 0 { "\n" } else { "" })?;
        print(comparison.render())?;
        // What is not judged any more does not fail either.
        let sank = b.1.verdict == RunVerdict::DoesNotConform && a.1.verdict != RunVerdict::DoesNotConform;
        worse |= sank || !comparison.worse().is_empty();
    }
    if let Some(path) = &args.html {
        keep(path, html::compare(&sides, &args.place.load()?))?;
    }
    Ok(u8::from(worse))
}
