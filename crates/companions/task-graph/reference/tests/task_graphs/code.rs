//! Generated code, compiled against stand-ins for kernels: a graph with a fork, a join, a fused weight and a buffer
//! that is used again runs on three threads, in order, with the right results.

use std::path::{Path, PathBuf};
use std::process::Command;

use megakernel_ir::{Layout, write_record};
use megakernel_task_graph::read_translation;
use megakernel_task_graph_reference::codegen::generate;
use megakernel_task_graph_reference::translate::translate;
use megakernel_test_support::tools::{Tool, require};
use serde_json::json;

fn request() -> String {
    let tensor = |name: &str, dims: [i64; 2], io: &str| json!({"name": name, "data_type": 950, "dims": dims, "io": io});
    let whole = |tensor: &str| json!({"tensor": tensor, "map": [-1, -1, -1]});
    let cut = |tensor: &str, map: [i64; 3]| json!({"tensor": tensor, "map": map});
    let residual = |name: &str, scale: serde_json::Value, inputs: [&str; 2], output: &str| {
        json!({"name": name, "task_type": 121, "grid": [4, 2, 1], "params": {"scale": scale},
            "inputs": [cut(inputs[0], [1, 0, -1]), cut(inputs[1], [1, 0, -1]), null], "outputs": [cut(output, [1, 0, -1])]})
    };
    json!({"mode": "sound", "kernel_graph": {
        "tensors": [
            tensor("x", [2, 8], "torch"), tensor("v", [8, 4], "torch"),
            tensor("w_part_1", [2, 8], "torch"), tensor("w_part_2", [2, 8], "torch"),
            {"name": "w", "data_type": 950, "dims": [4, 8], "io": "fused", "parts": ["w_part_1", "w_part_2"]},
            tensor("a", [2, 8], "cuda"), tensor("b", [2, 4], "cuda"), tensor("c", [2, 8], "cuda"), tensor("d", [2, 8], "cuda")
        ],
        "operators": [
            {"name": "begin", "task_type": 101, "grid": [2, 2, 1], "inputs": [cut("x", [1, 0, -1])], "outputs": [cut("a", [1, 0, -1])]},
            {"name": "down", "task_type": 102, "grid": [4, 1, 1], "inputs": [whole("a"), cut("w", [0, -1, -1])], "outputs": [cut("b", [1, -1, -1])]},
            {"name": "up", "task_type": 102, "grid": [2, 1, 1], "inputs": [whole("b"), cut("v", [0, -1, -1])], "outputs": [cut("c", [1, -1, -1])]},
            residual("join", json!(3), ["c", "a"], "d"),
            residual("again", json!(0.5), ["d", "x"], "a")
        ]
    }})
    .to_string()
}

#[test]
fn a_graph_runs_on_the_host() {
    require(Tool::Cxx);
    let text = request();
    let request = read_translation(text.as_bytes()).expect("a request");
    let code = generate(&request).expect("code");
    assert_eq!(code.matches("template <> struct Variant<102, ").count(), 2);
    assert_eq!(code.matches("template <> struct Variant<121, ").count(), 2);
    let graph = write_record(&translate(&request).expect("a graph"), Layout::Indent(2));

    let folder = tempfile::tempdir().expect("a folder");
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/task_graphs/generated_code");
    for file in ["main.cpp", "kernels.cuh"] {
        std::fs::copy(sources.join(file), folder.path().join(file)).expect("copied");
    }
    std::fs::write(folder.path().join("generated.cuh"), code).expect("written");
    std::fs::write(folder.path().join("task_graph.json"), graph).expect("written");
    run(
        folder.path(),
        "c++",
        &["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", "run", "main.cpp"],
    );
    run(folder.path(), "./run", &["task_graph.json"]);
}

fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let program = if program.starts_with("./") { folder.join(program) } else { PathBuf::from(program) };
    let output = Command::new(program).args(arguments).current_dir(folder).output().expect("it starts");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}
