//! The other commands: wrong usage, and a reader that stops early.

use std::process::{Command, Output, Stdio};

use megakernel_test_support::files::below;
use megakernel_test_support::root;

fn suite(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_megakernel-suite")).args(arguments).output().expect("the command starts")
}

#[test]
fn no_job_at_all_is_wrong_usage() {
    assert_eq!(suite(&["corpus", "check", "--jobs", "0"]).status.code(), Some(2));
}

#[test]
fn a_reader_that_stops_early_changes_nothing() {
    // There is no reader at all when the command begins, so that its first word already finds none.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_megakernel-suite"))
        .args(["prove", "--list"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .expect("the command ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), said.as_ref()), (Some(0), ""));
}

#[test]
fn tensors_of_the_corpus_stay_small() {
    let files = below(&root().join("corpus/tensors"));
    let bytes: u64 = files.iter().map(|path| path.metadata().expect("a file").len()).sum();
    assert!(files.len() > 100 && bytes < 25_000_000, "{} tensor files have {bytes} bytes", files.len());
}
