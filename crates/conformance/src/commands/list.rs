//! `megakernel-conform list`.

use super::{Done, Place, Selection, lines, print};

/// Print the cases that are selected, each under each of its profiles
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    place: Place,
}

/// Runs the command.
pub fn run(args: &Args) -> Done {
    let corpus = args.place.load()?;
    print(lines(&args.selection.of(&corpus)?))?;
    Ok(0)
}
