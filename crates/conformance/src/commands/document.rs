//! `megakernel-conform document`.

use super::{Done, Place, print};

/// Print the document of a case, with its edit applied: the bytes that a worker is sent
#[derive(clap::Args)]
pub struct Args {
    /// The id of the case, as reports show it, such as `race/first-k-of-n/fan-in-nops-3-1-of-3`
    case: String,
    #[command(flatten)]
    place: Place,
}

/// Runs the command.
pub fn run(args: &Args) -> Done {
    let corpus = args.place.load()?;
    let case = super::find(&corpus, &args.case)?;
    print(corpus.document(case).map_err(|cause| cause.to_string())?)?;
    Ok(0)
}
