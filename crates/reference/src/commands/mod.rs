//! The commands for people: what those of programs and of companions share, and those of programs.
//!
//! `validate` and `replay` have one driver each; a kind of documents says what it reads, how findings lead back into its
//! files, and how its runs are told. The program `megakernel-reference` puts together the commands of all.

pub mod draw;
mod excerpt;
pub mod groups;
mod programs;
pub mod replay;
pub mod validate;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, Args, FromArgMatches};
use megakernel_ir::companion::Reference;
use megakernel_ir::input;
use megakernel_ir::terminal;

pub use excerpt::{Numbering, Remarks, Renderer, in_words};
pub use programs::COMMANDS;

/// A command of the program.
#[derive(Clone, Copy)]
pub struct Command {
    /// Its name and options.
    pub describe: fn() -> clap::Command,
    /// Does it.
    pub run: fn(&ArgMatches, &[&Companion]) -> ExitCode,
}

/// What a companion adds to the reference of programs.
pub struct Companion {
    /// What answers the requests of its profiles.
    pub reference: fn() -> Box<dyn Reference>,
    /// Its commands.
    pub commands: &'static [Command],
    /// What of its documents `replay` takes.
    pub replay: Option<&'static (dyn replay::Kind + Sync)>,
}

/// The command with these options; their documentation is what the command says of itself.
pub fn describe<A: Args>(name: &'static str) -> clap::Command {
    A::augment_args(clap::Command::new(name))
}

/// The options of a command line that clap has accepted.
///
/// # Errors
/// The exit code where clap has not, which it then has explained.
pub fn options<A: FromArgMatches>(matches: &ArgMatches) -> Result<A, ExitCode> {
    A::from_arg_matches(matches).map_err(|error| {
        let _ = error.print();
        ExitCode::from(2)
    })
}

/// Says what is wrong with a file or the usage; exit code 2.
pub fn wrong(message: impl std::fmt::Display) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(2)
}

/// The exit code after writing to standard output; `written` may have failed.
pub fn finished(written: io::Result<()>, code: u8) -> ExitCode {
    match terminal::unless_closed(written) {
        Ok(()) => ExitCode::from(code),
        Err(error) => wrong(format_args!("cannot write to standard output: {error}")),
    }
}

/// The bytes of a file.
///
/// # Errors
/// What is wrong, in words.
pub fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    input::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// A number and what it counts.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
