//! `megakernel-reference validate-task-graph`: exit codes, several files as one system, and where findings are shown; and
//! `translate` and `generate-code`.

#[path = "../../companions/task-graph/reference/tests/support/task_graphs.rs"]
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

/// Two operators, the second of which reads a fused tensor, and a sum over both ranks.
fn kernel_graph() -> Value {
    let tensor = |name: &str, dims: [i64; 2], io: &str| json!({"name": name, "data_type": 941, "dims": dims, "io": io});
    json!({
        "tensors": [
            tensor("x", [4, 8], "torch"), tensor("q", [8, 8], "torch"), tensor("k", [4, 8], "torch"),
            {"name": "qk", "data_type": 941, "dims": [12, 8], "io": "fused", "num_groups": 2, "parts": ["q", "k"]},
            tensor("y", [4, 8], "cuda"), tensor("z", [4, 12], "cuda"), tensor("s", [4, 12], "cuda"),
            {"name": "buf", "data_type": 941, "dims": [2, 4, 12], "io": "nvshmem"}
        ],
        "operators": [
            {"name": "first", "task_type": 101, "grid": [4, 2, 1], "inputs": [{"tensor": "x", "map": [1, 0, -1]}, null],
                "outputs": [{"tensor": "y", "map": [1, 0, -1]}]},
            {"name": "second", "task_type": 102, "grid": [6, 1, 1],
                "inputs": [{"tensor": "y", "map": [-1, -1, -1]}, {"tensor": "qk", "map": [0, -1, -1]}],
                "outputs": [{"tensor": "z", "map": [1, -1, -1]}]},
            {"name": "sum", "task_type": 106, "grid": [6, 1, 1],
                "inputs": [{"tensor": "z", "map": [1, -1, -1]}, {"tensor": "buf", "map": [2, -1, -1]}],
                "outputs": [{"tensor": "s", "map": [1, -1, -1]}]}
        ]
    })
}

#[test]
fn a_kernel_graph_is_translated_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("good.json"), kernel_graph().to_string()).expect("written");
    std::fs::write(folder.path().join("bad.json"), r#"{"tensors": [], "operators": []}"#).expect("written");
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_megakernel-reference"))
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .expect("it starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, graph, _) = run(&["translate", "good.json", "--ranks", "2", "--rank", "1"]);
    assert_eq!(code, Some(0));
    let graph: Value = serde_json::from_str(&graph).expect("a graph");
    assert_eq!(graph["all_tasks"][1]["trigger_event"], json!((1i64 << 32) | 1));
    let (code, out, error) = run(&["translate", "bad.json", "--mode", "sound"]);
    assert_eq!((code, &*out), (Some(1), ""));
    assert!(error.contains("TK06") && error.contains("bad.json:1:"), "{error}");
    assert_eq!(run(&["translate", "absent.json"]).0, Some(2));
    let (code, source, _) = run(&["generate-code", "good.json", "--ranks", "2"]);
    assert_eq!(code, Some(0));
    for part in [
        "kernels::rms_norm_linear<Variant<102, 0>>",
        "kernels::nvshmem_copy<Variant<199, 0>>",
        "{\"buf\", Memory::symmetric, 192ll}",
    ] {
        assert!(source.contains(part), "{part}");
    }
}
