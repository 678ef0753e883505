//! `megakernel-conform compare`.

use std::path::PathBuf;

use megakernel_conformance::compare::Comparison;
use megakernel_conformance::report::{Report, RunVerdict};

use super::{Done, print};

/// Show two reports side by side: two runs, two implementations, or two versions of the suite
///
/// Profiles with both verdicts, rules, clauses, opcodes and dtypes of which another number of cases fails, and the cases that fail in one
/// of them alone.
#[derive(clap::Args)]
#[command(
    after_help = "Exit code: 0 if nothing fails in B that does not fail in A, 1 if something does, or if B does not conform and A does not say so of itself, 2 if they cannot be compared."
)]
pub struct Args {
    /// A report, as `run --json FILE` wrote it
    a: PathBuf,
    /// Another one
    b: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Done {
    let name = |path: &PathBuf| path.display().to_string();
    let (a, b) = (super::report(&args.a)?, super::report(&args.b)?);
    let (a_name, b_name): (String, String) = (name(&args.a), name(&args.b));
    let sides: [(&str, &Report); 2] = [(&a_name, &a), (&b_name, &b)];
    let comparison = Comparison::new(sides[0], sides[1]);
    print(comparison.render())?;
    // What is not judged any more does not fail either.
    let sank = b.verdict == RunVerdict::DoesNotConform && a.verdict != RunVerdict::DoesNotConform;
    Ok(u8::from(sank || !comparison.worse().is_empty()))
}
