//! Reads the specification and what its core and companions declare, and writes what follows from them: the list of rules,
//! clauses, classes, profiles and methods in `crates/ir`, and the names in `schemas/names.schema.json`; from the table of opcodes,
//! their names and records in `crates/ir`, their schema, and the lists of them in other files.
//!
//! The headings are the only place where an id is made. A rule dropped from the specification breaks the build where it is
//! still used. This crate depends on nothing that it generates.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

pub mod compose;
pub mod declaration;
mod example;
pub mod markdown;
pub mod opcodes;
mod profiles;
mod region;
mod render;
pub mod spec;
pub mod tables;

pub use example::{Example, Twin};
use opcodes::Table;
pub use render::{names, render};
use spec::Spec;

/// Where the generated list stands, relative to the repository.
pub const GENERATED: &str = "crates/ir/src/generated.rs";

/// Where the names for schemas stand, relative to the repository.
pub const NAMES: &str = "schemas/names.schema.json";

/// Where the C header of the device ABI stands, relative to the repository.
pub const HEADER: &str = "crates/cuda-harness/cuda/abi.h";

/// Writes the files, or with `check` compares them and says which is out of date.
///
/// # Errors
/// What is wrong with the specification, or which file is out of date.
pub fn update(root: &Path, check: bool) -> Result<String, String> {
    let spec = Spec::read(root)?;
    let count = format!("{} rules and {} clauses", spec.rules().count(), spec.clauses().count());
    let list = rustfmt(root, &render(&spec)?)?;
    let mut done = Vec::new();
    let mut stale = Vec::new();
    let mut file = |path: &str, wanted: &str, count: &str| match update_file(root, path, wanted, check) {
        Ok(state) => done.push(format!("{path} {state}: {count}")),
        Err(problem) => stale.push(problem),
    };
    file(GENERATED, &list, &count);
    for (path, wanted) in compose::files(root, &spec.declarations)? {
        let wanted = if path.ends_with(".rs") { rustfmt(root, &wanted)? } else { wanted };
        file(path, &wanted, "what is composed of companions");
    }
    for (path, wanted) in tables::files(root, &spec.declarations)? {
        file(&path, &rustfmt(root, &wanted)?, "tables of a companion");
    }
    file(NAMES, &names(&spec), &format!("{} declarations", spec.declarations.len()));
    let table = Table::read(root)?;
    let count = format!("{} opcodes", table.opcodes.len());
    file(opcodes::GENERATED, &rustfmt(root, &opcodes::rust(&table))?, &count);
    file(opcodes::SCHEMA, &opcodes::schema(&table), &count);
    let read =
        |path: &str| fs::read_to_string(root.join(path)).map_err(|e| format!("{path}: cannot be read: {e}"));
    for (path, wanted) in opcodes::regions(&table, read)? {
        file(path, &wanted, "lists of opcodes");
    }
    for (path, wanted) in profiles::regions(&spec.declarations, read)? {
        file(path, &wanted, "profiles and companions");
    }
    // Made of the records in Rust, which have to compile by now.
    match header(root) {
        Ok(header) => file(HEADER, &header, "the device ABI"),
        Err(problem) => stale.push(problem),
    }
    if stale.is_empty() { Ok(done.join("\n")) } else { Err(stale.join("\n")) }
}

/// What the program `abi-header` writes.
fn header(root: &Path) -> Result<String, String> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "--quiet", "--package", "megakernel-abi", "--bin", "abi-header"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("{HEADER}: cargo cannot be run: {e}"))?;
    if !output.status.success() {
        return Err(format!(
            "{HEADER}: `cargo run --package megakernel-abi --bin abi-header` failed; see above"
        ));
    }
    String::from_utf8(output.stdout).map_err(|e| format!("{HEADER}: abi-header wrote no UTF-8: {e}"))
}

fn update_file(root: &Path, path: &str, wanted: &str, check: bool) -> Result<&'static str, String> {
    let full = root.join(path);
    let found = fs::read_to_string(&full).unwrap_or_default();
    match (found == wanted, check) {
        (true, _) => Ok("is up to date"),
        (false, true) => Err(difference(path, &found, wanted)),
        (false, false) => {
            fs::write(&full, wanted).map_err(|e| format!("{path}: cannot be written: {e}"))?;
            Ok("written")
        }
    }
}

/// Formats as `cargo fmt` would, so that the two never disagree about the generated file.
fn rustfmt(root: &Path, text: &str) -> Result<String, String> {
    let failed = |e: std::io::Error| {
        format!("rustfmt cannot be run: {e}; install it with `rustup component add rustfmt`")
    };
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--config-path"])
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(text.as_bytes()).map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err(format!("rustfmt does not take the generated text ({})", output.status));
    }
    String::from_utf8(output.stdout).map_err(|e| format!("rustfmt wrote something that is not UTF-8: {e}"))
}

/// Names the first line that differs.
fn difference(path: &str, found: &str, wanted: &str) -> String {
    let (mut left, mut right) = (found.lines(), wanted.lines());
    for line in 1.. {
        let (l, r) = (left.next(), right.next());
        if l != r {
            let show = |text: Option<&str>| {
                text.map_or("the end of the file".to_string(), |t| format!("`{}`", t.trim()))
            };
            return format!(
                "{path}:{line}: found {}, generated is {}: run `cargo xtask codegen`",
                show(l),
                show(r)
            );
        }
        if l.is_none() {
            break;
        }
    }
    format!("{path} differs in its line ends: run `cargo xtask codegen`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert!(
            difference(GENERATED, "a\nb\n", "a\nc\n").contains("generated.rs:2: found `b`, generated is `c`")
        );
        assert!(difference(GENERATED, "a\n", "a").contains("differs in its line ends"));
    }
}
