//! `megakernel-conform explain`.

use megakernel_conformance::spec;

use super::{Done, Place, print};

/// Print what the specification says under a rule or clause
///
/// The text is read from the folder `spec` beside the corpus. `megakernel-conform list --rule ID` lists the cases that cite it.
#[derive(clap::Args)]
pub struct Args {
    /// The id, such as R01 or EXE-07
    id: String,
    #[command(flatten)]
    place: Place,
}

/// Runs the command.
pub fn run(args: &Args) -> Done {
    let (clause, text) = spec::section(&args.place.directory()?, &args.id)?;
    print(format!("{text}\n\n{}\n", clause.document))?;
    Ok(0)
}
