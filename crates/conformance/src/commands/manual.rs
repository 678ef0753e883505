//! `megakernel-conform manual`.

use std::path::PathBuf;

use super::{Done, print};

/// Write manual pages for `man`, one for the program and one for each command, which say what `--help` says
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  megakernel-conform manual ~/.local/share/man/man1
      after which `man megakernel-conform-run` is the page of `run`")]
pub struct Args {
    /// The folder to write them to; it has to be there
    #[arg(value_name = "DIRECTORY")]
    folder: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args, program: clap::Command) -> Done {
    // Its commands are named in full, and each knows the version.
    let failed = |why: std::io::Error| format!("{}: {why}", args.folder.display());
    clap_mangen::generate_to(program, &args.folder).map_err(failed)?;
    print(format!("the pages are in {}\n", args.folder.display()))?;
    Ok(0)
}
