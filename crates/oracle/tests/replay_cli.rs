//! `megakernel-reference replay` as a person meets it.

use std::path::Path;
use std::process::{Command, Output};

use megakernel_test_support::{files, root};

fn replay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_megakernel-reference"))
        .arg("replay")
        .args(arguments)
        .output()
        .expect("the command starts")
}

/// The failing program of a rule's section in the specification, as a file.
fn example(rule: &str, chapter: &str) -> String {
    let text = files::text(&root().join("spec").join(chapter));
    let (_, section) = text.split_once(&format!("\n### {rule} ")).expect("a section");
    let (_, fence) = section.split_once("```json rejected\n").expect("a failing program");
    let (program, _) = fence.split_once("```").expect("the end of the fence");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("replay-{rule}.json"));
    std::fs::write(&path, program).expect("a file");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_race_is_shown_step_by_step() {
    let output = replay(&[&example("R05", "rules/race.md")]);
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
    let output = replay(&[&example("D06", "rules/deadlock.md")]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("=> deadlock: nothing runs, nothing can start, and 3 tasks are unfinished"),
        "{text}"
    );
    assert!(text.contains("=> task 1 (NOP) stands behind task 0 (NOP) in its queue"), "{text}");
}

#[test]
fn other_findings_can_be_left_out() {
    let output = replay(&["--rule", "D01", &example("R05", "rules/race.md")]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.ends_with("0 replayed to a bad state, 0 without a run, 0 wrong witnesses\n"), "{text}");
}

/// A program of the repository's tests, as a file.
fn file(name: &str, program: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("replay-{name}.json"));
    std::fs::write(&path, program).expect("a file");
    path.to_string_lossy().into_owned()
}

#[test]
fn the_host_reads_after_the_launch_what_lies_on_a_page() {
    let program = r#"{"ir_version": "0.2.0", "abi_version": "0.2", "buffers": [
        {"id": 0, "name": "in", "kind": "IO_INPUT", "dtype": "F32", "shape": [1]},
        {"id": 1, "name": "x", "kind": "ACTIVATION", "dtype": "F32", "shape": [1]},
        {"id": 2, "name": "cache", "kind": "KV_CACHE", "dtype": "F32", "shape": [1, 1, 1]}],
        "pages": {"buffer_to_page": {"1": 0, "2": 0}, "pages": [{"id": 0, "space": "HBM", "nbytes": 4}]},
        "counters": [{"id": 0}],
        "tasks": [{"id": 0, "op": "COPY", "inputs": [0], "outputs": [1], "out_counter": 0}]}"#;
    let output = replay(&["--rule", "P04", &file("host", program)]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = "=> page: the host reads buffer 2 `cache` after the launch, and its storage holds what task 0 (COPY) wrote into buffer 1 `x`";
    assert!(text.contains(line), "{text}");
    assert!(text.ends_with("1 replayed to a bad state, 0 without a run, 0 wrong witnesses\n"), "{text}");
}

#[test]
fn a_schedule_leaves_out_the_tasks_that_no_sm_takes_up() {
    let program = r#"{"ir_version": "0.2.0", "abi_version": "0.2", "buffers": [], "counters": [{"id": 0}, {"id": 1}],
        "tasks": [{"id": 0, "op": "NOP", "inputs": [], "outputs": [], "out_counter": 0, "sm": -1},
                  {"id": 1, "op": "NOP", "inputs": [], "outputs": [], "out_counter": 0},
                  {"id": 2, "op": "NOP", "inputs": [], "outputs": [], "out_counter": 0},
                  {"id": 3, "op": "NOP", "inputs": [], "outputs": [], "out_counter": 1, "waits": [{"counter": 0, "threshold": 1}]}]}"#;
    let output = replay(&["--rule", "R01", &file("no-sm", program)]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.ends_with("1 replayed to a bad state, 0 without a run, 0 wrong witnesses\n"), "{text}");
}

#[test]
fn what_is_no_program_cannot_run() {
    let output = replay(&[&example("S08", "rules/structure.md")]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("is no program that could run: S08 ids-not-dense"), "{message}");
    assert_eq!(replay(&["/no/such/file"]).status.code(), Some(2));
}

#[test]
fn a_race_of_a_task_graph_is_shown_step_by_step() {
    let output = replay(&[&example("TR02", "companions/task-graph/rules.md")]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.starts_with("TR02 read-write-race at /all_tasks/"), "{text}");
    assert!(text.contains("start  task "), "{text}");
    assert!(text.contains("=> race: task ") && text.contains("and both run"), "{text}");
    assert!(text.ends_with("1 replayed to a bad state, 0 without a run, 0 wrong witnesses\n"), "{text}");
}
