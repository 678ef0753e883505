//! `cargo xtask prove` as a person meets it.

use std::path::Path;
use std::process::{Command, Output};

fn prove(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_megakernel-suite"))
        .args(["prove", "--scope", "quick", "--jobs", "1"])
        .args(arguments)
        .output()
        .expect("the command starts")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The number before ` programs, no disagreement` in the last line.
fn programs(output: &Output) -> u64 {
    let text = text(output);
    let last = text.lines().last().unwrap_or_default();
    let number = last.strip_suffix(" programs, no disagreement").expect("the last line has the number");
    number.replace(',', "").parse().expect("a number")
}

#[test]
fn parts_add_up_to_the_whole() {
    let whole = prove(&[]);
    assert_eq!(whole.status.code(), Some(0), "{}", text(&whole));
    let folder = tempfile::tempdir().expect("a directory");
    let path = |number: u64| folder.path().join(number.to_string()).display().to_string();
    let parts = [1, 2, 3]
        .map(|number| programs(&prove(&["--shard", &format!("{number}/3"), "--checkpoint", &path(number)])));
    assert_eq!(parts.iter().sum::<u64>(), programs(&whole));
    let merged = prove(&["--merge", &path(2), &path(1), &path(3)]);
    assert_eq!((merged.status.code(), text(&merged)), (Some(0), text(&whole)));

    let refused = |arguments: &[&str], why: &str| {
        let output = prove(arguments);
        assert_eq!((output.status.code(), text(&output)), (Some(2), String::new()), "{why}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(why), "{error}");
    };
    refused(&["--merge", &path(1), &path(3)], "the checkpoint of shard 2/3 is missing");
    refused(&["--merge", &path(1), &path(2), &path(1), &path(3)], "are both of shard 1/3");
    refused(&["--merge", &path(1), &path(4)], &path(4));
    refused(&["--without", "R05", "--merge", &path(1), &path(2), &path(3)], "is a checkpoint of another run");
    let half = Command::new(env!("CARGO_BIN_EXE_megakernel-suite"))
        .args(["prove", "--scope", "quick", "--shard", "auto", "--checkpoint", &path(4)])
        .envs([("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "2")])
        .output()
        .expect("the command starts");
    assert!(half.status.success(), "{half:?}");
    refused(&["--merge", &path(1), &path(2), &path(4), &path(3)], "is of shard 2/2, where others are of 3");
    prove(&["--checkpoint", &path(5)]);
    refused(&["--merge", &path(5)], "is a checkpoint of no shard");
    let mut stopped: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path(3)).expect("a file")).expect("JSON");
    stopped["done"] = 0.into();
    std::fs::write(path(3), stopped.to_string()).expect("a file");
    refused(&["--merge", &path(1), &path(2), &path(3)], "has come to 0 of the ");
    stopped["question"]["shard"] = format!("2/{}", usize::MAX).into();
    std::fs::write(path(3), stopped.to_string()).expect("a file");
    refused(&["--merge", &path(1), &path(2), &path(3)], "is a checkpoint of another run");
}

#[test]
fn a_weakened_validator_fails_with_a_program() {
    let output = prove(&["--without", "R05"]);
    assert_eq!(output.status.code(), Some(1));
    let text = text(&output);
    let (document, rest) = text.split_once("\n}\n").expect("a document and more");
    let document: serde_json::Value = serde_json::from_str(&format!("{document}\n}}")).expect("JSON");
    assert_eq!(document["tasks"].as_array().map(Vec::len), Some(3), "{text}");
    assert!(rest.contains("validator: accept\nexplorer: read-write race\n"), "{text}");
    assert!(rest.contains("read-write race at the end of: start("), "{text}");
}

/// The validator once accepted this, and prove had no such programs.
#[test]
fn a_validator_that_overlooks_caches_changed_in_place_fails_with_a_program() {
    let output = prove(&["--without", "R06-in-place"]);
    assert_eq!(output.status.code(), Some(1));
    let text = text(&output);
    assert!(text.contains("family cache-in-place: validator and explorer disagree"), "{text}");
    assert!(text.contains("validator: accept\nexplorer: ") && text.contains("stale read"), "{text}");
}

#[test]
fn a_checkpoint_is_gone_on_from_and_not_mistaken() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("half.json");
    let file = path.to_str().expect("UTF-8");
    let whole = prove(&["--family", "tiles", "--checkpoint", file]);
    // As a run leaves it that was stopped in the middle.
    let mut half: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(Path::new(file)).expect("a file")).expect("JSON");
    assert!(half["done"].as_u64() > Some(1), "{half}");
    let again = prove(&["--family", "tiles", "--checkpoint", file]);
    assert_eq!(text(&again), text(&whole), "nothing is left to do, and nothing is lost");
    half["done"] = 0.into();
    half["families"][2] = serde_json::json!([0, 0, 0, 0, {}]);
    std::fs::write(&path, half.to_string()).expect("a file");
    assert_eq!(programs(&prove(&["--family", "tiles", "--checkpoint", file])), programs(&whole));
    let other = prove(&["--family", "cache", "--checkpoint", file]);
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).contains("is a checkpoint of another run"));
}

#[test]
fn what_does_not_exist_is_refused() {
    for (arguments, message) in [
        (["--family", "nope"], "has no family `nope`"),
        (["--shard", "4/3"], "there is no shard 4 of 3; they are counted from 1"),
        (["--without", "X01"], "no rule has the id `X01`"),
    ] {
        let output = prove(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(message), "{error}");
    }
}
