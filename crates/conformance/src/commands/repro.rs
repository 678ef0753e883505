//! `megakernel-conform repro`.

use std::path::PathBuf;

use super::export::{empty, export, write};
use super::{Done, Place, print};

const LAYOUT: &str = "\
The directory has what `export` writes of a case, and `repro.py`, a script of Python 3 without packages. It starts a worker, sends it
the case, prints the answer, and says whether verdict, rules, document and tensors are as declared:
  python3 DIRECTORY/repro.py ./my-vm --any --options
The suite is not needed for that. What the checkers of companions judge beyond, and traces, the script says it leaves out.";

/// Write one case with a script that plays it to a worker without the suite
#[derive(clap::Args)]
#[command(after_help = LAYOUT)]
pub struct Args {
    /// The id of the case, as reports show it
    case: String,
    /// The directory to write to: new, or empty
    directory: PathBuf,
    #[command(flatten)]
    place: Place,
}

/// Runs the command.
pub fn run(args: &Args) -> Done {
    let corpus = args.place.load()?;
    let case = super::find(&corpus, &args.case)?;
    empty(&args.directory)?;
    export(&corpus, case, &args.directory)?;
    let script = args.directory.join("repro.py");
    write(&script, include_bytes!("repro.py"))?;
    print(format!("python3 {} COMMAND OF THE WORKER\n", script.display()))?;
    Ok(0)
}
