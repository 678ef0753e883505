//! `megakernel-reference validate-task-graph`: exit codes, several files as one system, and where findings are shown.

#[path = "support/task_graphs.rs"]
mod support;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use support::{layers, rank_of_two, system};

fn validate(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_megakernel-reference"))
        .arg("validate-task-graph")
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("the reference starts")
}

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut racing = rank_of_two(1);
    racing["all_tasks"][2]["outputs"][0]["base_ptr"] = json!("q");
    let tensors: Vec<Value> = ["x", "w", "h", "y"]
        .iter()
        .map(|name| json!({"name": name, "data_type": 941, "dims": [1, 64]}))
        .collect();
    let files = [
        ("layers.json", layers()),
        ("system.json", system()),
        ("rank0.json", rank_of_two(0)),
        ("rank1.json", rank_of_two(1)),
        ("racing1.json", racing),
        ("kernels.json", json!({"tensors": tensors, "operators": []})),
        ("text.json", json!("no graph")),
    ];
    for (name, content) in files {
        std::fs::write(directory.path().join(name), content.to_string()).expect("a file");
    }
    directory
}

#[test]
fn exit_codes_tell_rejected_from_unreadable() {
    let directory = directory();
    for (files, code) in [
        (&["layers.json"][..], 0),
        (&["system.json"], 0),
        (&["rank0.json", "rank1.json"], 0),
        (&["rank1.json"], 0),
        (&["rank1.json", "rank0.json"], 1),
        (&["rank0.json", "racing1.json"], 1),
        (&["layers.json", "--kernel-graph", "kernels.json"], 1),
        (&["text.json"], 1),
        (&["rank0.json", "text.json"], 1),
        (&["rank0.json", "system.json"], 2),
        (&["layers.json", "--kernel-graph", "layers.json"], 2),
        (&["rank0.json", "missing.json"], 2),
        (&[], 2),
    ] {
        let output = validate(directory.path(), files);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{files:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(!output.stdout.contains(&0x1b), "colour, but no terminal");
    }
}

#[test]
fn findings_are_shown_in_the_file_of_their_rank() {
    let directory = directory();
    let text =
        |arguments: &[&str]| String::from_utf8(validate(directory.path(), arguments).stdout).expect("UTF-8");
    assert_eq!(text(&["layers.json"]), "layers.json: accepted, 0 errors and 0 warnings\n");
    let shown = text(&["rank0.json", "racing1.json"]);
    assert!(shown.starts_with("racing1.json:1:"), "{shown}");
    assert!(shown.ends_with("\n"), "{shown}");
    assert!(shown.contains("rank0.json racing1.json: rejected, "), "{shown}");
    let line = text(&["--json", "rank0.json", "racing1.json"]);
    let line: Value = serde_json::from_str(&line).expect("one JSON object");
    assert_eq!(line["verdict"], "reject");
    assert_eq!(line["files"], json!(["rank0.json", "racing1.json"]));
    let first = &line["diagnostics"][0];
    assert_eq!((&first["file"], &first["line"]), (&json!("racing1.json"), &json!(1)));
    assert!(first["pointer"].as_str().expect("a pointer").starts_with("/ranks/1/all_tasks/"), "{first}");
}
