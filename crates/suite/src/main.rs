//! `megakernel-suite`: the commands of a spec author. They are called as `cargo xtask corpus | adequacy | prove`, which builds and
//! runs this program. A command is one file that has `Args` and `run`; this one only tells them apart.

use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

mod adequacy;
mod corpus;
mod prove;

/// Commands of a spec author: the corpus, how much it finds, and whether the reference is sound.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    Adequacy(adequacy::Args),
    Corpus(corpus::Args),
    Prove(Box<prove::Args>),
}

fn main() -> ExitCode {
    match Command::parse() {
        Command::Adequacy(args) => adequacy::run(&root(), &args),
        Command::Corpus(args) => corpus::run(&root(), &args),
        Command::Prove(args) => prove::run(&root(), &args),
    }
}

/// Writes to standard output. A reader that has seen enough, such as `head`, does not change the result.
fn print(text: &str) -> Result<(), String> {
    print_bytes(text.as_bytes())
}

/// The same for bytes that need not be text.
fn print_bytes(bytes: &[u8]) -> Result<(), String> {
    let mut out = std::io::stdout();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(cause) if cause.kind() != ErrorKind::BrokenPipe => {
            Err(format!("the output cannot be printed: {cause}"))
        }
        _ => Ok(()),
    }
}

/// The root of the repository, absolute.
fn root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let manifest = PathBuf::from(manifest);
    manifest.ancestors().nth(2).map(PathBuf::from).unwrap_or(manifest)
}
