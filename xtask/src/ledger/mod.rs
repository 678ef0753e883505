//! `cargo xtask ledger`: what was published at the last release, and what has changed since. docs/versioning.md says what may change.

mod changelog;
mod clauses;
mod compare;
mod schemas;
mod state;

use std::path::Path;
use std::process::ExitCode;

use megakernel_codegen::declaration::Declaration;

pub use compare::{Comparison, compare};
pub use state::Ledger;

use crate::tidy::tree::Files;
use crate::tidy::vanished;

/// Where the ledger stands.
pub const PATH: &str = "releases/ledger.json";

/// Say what was added, removed, flipped and recomputed since the last release, and what of it a release is refused for
#[derive(clap::Args)]
#[command(after_help = "Exit code: 0 if nothing is refused, 1 if something is, 2 if that cannot be told.")]
pub struct Args {
    /// Write the ledger of the state as it is, in place of comparing with it: at a release
    #[arg(long)]
    write: bool,
}

/// The command.
pub fn run(root: &Path, args: &Args) -> ExitCode {
    let done = if args.write { write(root) } else { difference(root) };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn write(root: &Path) -> Result<bool, String> {
    let mut ledger = state(root)?;
    if let Some(last) = last(root)? {
        ledger.remember(&last);
    }
    let path = root.join(PATH);
    let failed = |cause: std::io::Error| format!("{PATH} cannot be written: {cause}");
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, ledger.to_text()?).map_err(failed)?;
    let Ledger { cases, clauses, schemas, .. } = &ledger;
    crate::print(&format!(
        "{PATH} written: {} cases, {} clauses and rules, {} schemas\n",
        cases.len(),
        clauses.len(),
        schemas.len()
    ))?;
    Ok(true)
}

fn difference(root: &Path) -> Result<bool, String> {
    let comparison = since_the_last(root)?;
    crate::print(&comparison.to_string())?;
    Ok(comparison.refused.is_empty())
}

/// What a release is refused for, and what else has changed.
///
/// # Errors
/// The ledger, or the state of the repository, cannot be read.
pub fn since_the_last(root: &Path) -> Result<Comparison, String> {
    let last =
        last(root)?.ok_or_else(|| format!("there is no {PATH}: `cargo xtask ledger --write` writes it"))?;
    Ok(compare(&last, &state(root)?))
}

/// The repository as it is.
fn state(root: &Path) -> Result<Ledger, String> {
    Ledger::of(&Files::read(root)?, Declaration::read_all(root)?)
}

/// The repository as it was at the last release: by the ledger of its tag, which nobody edits, or before the first one by the file; nothing
/// where there is no such file.
fn last(root: &Path) -> Result<Option<Ledger>, String> {
    let tagged =
        vanished::last_release(root).and_then(|tag| vanished::git(root, &["show", &format!("{tag}:{PATH}")]));
    let text = match tagged.map_or_else(|| std::fs::read_to_string(root.join(PATH)), Ok) {
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|cause| format!("{PATH} cannot be read: {cause}"))?,
    };
    Ledger::read(&text).map(Some)
}

/// The digest of a text.
fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}
