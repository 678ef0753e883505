//! `megakernel-reference replay` as a person meets it.

use std::path::Path;
use std::process::{Command, Output};

fn replay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_megakernel-reference"))
        .arg("replay")
        .args(arguments)
        .output()
        .expect("the command starts")
}

/// The failing program of a rule's section in the specification, as a file.
fn example(rule: &str, chapter: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("spec/rules").join(chapter)).expect("a chapter");
    let (_, section) = text.split_once(&format!("\n### {rule} ")).expect("a section");
    let (_, fence) = section.split_once("```json rejected\n").expect("a failing program");
    let (program, _) = fence.split_once("```").expect("the end of the fence");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("replay-{rule}.json"));
    std::fs::write(&path, program).expect("a file");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_race_is_shown_step_by_step() {
    let output = replay(&[&example("R05", "race.md")]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert!(lines[0].starts_with("R05 overwrite-race at /tasks/2/outputs/0:"), "{text}");
    assert_eq!(lines[2], "2. finish task 0 (COPY): counter 0 becomes 1");
    assert_eq!(
        lines[4],
        "4. start  task 2 (COPY): counter 0 is 1 of 1; reads [0:4] of buffer 0 `x`; writes [0:4] of buffer 1 `a`"
    );
    assert_eq!(
        lines[5],
        "=> race: task 1 (COPY) reads [0:4] of buffer 1 `a`, task 2 (COPY) writes it, and both run"
    );
    assert!(text.ends_with("1 replayed to a bad state, 0 without a run, 0 wrong witnesses\n"), "{text}");
}

#[test]
fn a_deadlock_says_who_waits_for_whom() {
    let output = replay(&[&example("D06", "deadlock.md")]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("=> deadlock: nothing runs, nothing can start, and 3 tasks are unfinished"),
        "{text}"
    );
    assert!(text.contains("=> task 1 (NOP) stands behind task 0 (NOP) in its queue"), "{text}");
}

#[test]
fn other_findings_can_be_left_out() {
    let output = replay(&["--rule", "D01", &example("R05", "race.md")]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.ends_with("0 replayed to a bad state, 0 without a run, 0 wrong witnesses\n"), "{text}");
}

#[test]
fn what_is_no_program_cannot_run() {
    let output = replay(&[&example("S08", "structure.md")]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("is no program that could run: S08 ids-not-dense"), "{message}");
    assert_eq!(replay(&["/no/such/file"]).status.code(), Some(2));
}
