//! `megakernel-suite`: the commands of a spec author. They are called as `cargo xtask corpus | adequacy | prove | fuzz`, which builds and
//! runs this program. A command is one file that has `Args` and `run`; this one only tells them apart.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use megakernel_ir::terminal::print;

mod adequacy;
mod agree;
mod corpus;
mod fuzz;
mod prove;

/// Commands of a spec author: the corpus, how much it finds, and whether the reference is sound.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    Adequacy(adequacy::Args),
    Agree(agree::Args),
    Corpus(corpus::Args),
    Fuzz(fuzz::Args),
    Prove(Box<prove::Args>),
}

fn main() -> ExitCode {
    match Command::parse() {
        Command::Adequacy(args) => adequacy::run(&root(), &args),
        Command::Agree(args) => agree::run(&args),
        Command::Corpus(args) => corpus::run(&root(), &args),
        Command::Fuzz(args) => fuzz::run(&root(), &args),
        Command::Prove(args) => prove::run(&root(), &args),
    }
}

/// The root of the repository, absolute: the folder of the specification above the package that cargo runs, or else above this one.
fn root() -> PathBuf {
    let manifest = PathBuf::from(
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into()),
    );
    let root = manifest.ancestors().find(|folder| folder.join("spec/core.json").is_file());
    root.map(PathBuf::from).unwrap_or_else(|| manifest.clone())
}
