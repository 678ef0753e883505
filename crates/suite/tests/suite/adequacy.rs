//! `cargo xtask adequacy` as a person meets it.

use std::process::{Command, Output};

fn suite(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_megakernel-suite")).args(arguments).output().expect("the command starts")
}

#[track_caller]
fn assert_exit(code: i32, output: &Output) {
    let out = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{out}{error}");
}

#[test]
fn what_does_not_exist_is_wrong_usage() {
    assert_exit(2, &suite(&["adequacy", "--fault", "no-such-fault"]));
    assert_exit(2, &suite(&["adequacy", "--filter", "no/such/case"]));
}

/// Families of one opcode.
const GELU: &str = "numeric/gelu/{random,knee}/*";

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_some_cases_are_measured_by_themselves() {
    let output = suite(&["adequacy", "--filter", GELU]);
    assert_exit(0, &output);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("| GELU | BF16 |") && text.contains(" 0 false alarms"), "{text}");

    let output = suite(&["adequacy", "--filter", GELU, "--fault", "gelu-tanh"]);
    assert_exit(0, &output);
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("gelu-tanh: "));
    let output = suite(&["adequacy", "--filter", GELU, "--fault", "gqa-by-tile"]);
    assert_exit(1, &output);
    // A fault of numbers cannot be played where nothing executes.
    assert_exit(2, &suite(&["adequacy", "--filter", "race/first-k-of-n/*", "--fault", "gelu-tanh"]));
}

#[test]
fn faulty_validators_are_played_on_cases_that_ask_for_a_verdict() {
    let output = suite(&["adequacy", "--filter", "race/first-k-of-n/*", "--mutant", "rule-left-out:R01"]);
    assert_exit(0, &output);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("rule-left-out:R01: 6 cases\n  race/first-k-of-n/"), "{text}");
    assert!(text.contains(" 0 false alarms"), "{text}");
    assert_exit(2, &suite(&["adequacy", "--filter", "race/first-k-of-n/*", "--mutant", "no-such-step"]));
}
