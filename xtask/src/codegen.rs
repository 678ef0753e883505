//! `cargo xtask codegen [--check]`: writes what follows from the text of the specification and from its declarations.

use std::path::Path;
use std::process::ExitCode;

/// Write the lists of rules, clauses, profiles and methods from the specification, and the C header of the device ABI
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing: fail if a generated file is out of date
    #[arg(long)]
    check: bool,
}

/// The command: 0 when the files are up to date or were written, 1 otherwise.
pub fn run(root: &Path, args: &Args) -> ExitCode {
    match megakernel_codegen::update(root, args.check) {
        Ok(done) => {
            let _ = crate::print(&format!("{done}\n"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
