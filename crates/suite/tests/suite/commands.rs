//! The other commands: wrong usage, and a reader that stops early.

use std::process::{Command, Output, Stdio};

fn suite(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_megakernel-suite")).args(arguments).output().expect("the command starts")
}

#[test]
fn no_job_at_all_is_wrong_usage() {
    assert_eq!(suite(&["corpus", "check", "--jobs", "0"]).status.code(), Some(2));
}

#[test]
fn a_reader_that_stops_early_changes_nothing() {
    // Every case that depends on the seed is missing or different: more lines than a pipe holds. With this seed
    // rounding could change a token of a decoder, so that its weights are drawn anew.
    let mut child = Command::new(env!("CARGO_BIN_EXE_megakernel-suite"))
        .args(["corpus", "check", "--seed", "4"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
}
