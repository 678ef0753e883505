//! The programs that memory-centric IR makes of a decoder layer, by itself and over task graphs, on these kernels, as the page `examples/mcir/README.md` runs them.

use std::process::Command;

use megakernel_test_support::tools::{Tool, require};
use megakernel_test_support::{files, root};
use serde_json::Value;

/// The command of the page that runs the files of a folder, with this program for the worker, and what it prints.
fn run(kept: &str, options: &str) -> String {
    let page = files::text(&root().join("examples/mcir/README.md"));
    let (built, worker) = ("target/debug/megakernel-cuda", env!("CARGO_BIN_EXE_megakernel-cuda"));
    let data = format!("examples/mcir/{kept}/data.json");
    let is_it = |line: &&str| line.contains(built) && line.ends_with(&data);
    let command = page.lines().find(is_it).and_then(|line| line.strip_prefix("$ ")).expect("a command");
    assert!(command.starts_with("python3 examples/mcir/on_kernels.py "), "{command}");
    let cache = concat!(env!("CARGO_TARGET_TMPDIR"), "/kernels");
    let command = command.replace(built, &format!("{worker} --cache {cache} {options}"));
    require(Tool::Cxx);
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(root().join("examples"), folder.path().join("examples")).expect("a link");
    for name in ["program.json", "binding.json", "graph.json"] {
        let file = root().join("examples/mcir").join(kept).join(name);
        if command.contains(name) {
            std::fs::copy(file, folder.path().join(name)).expect("a copy");
        }
    }
    let output = Command::new("/bin/sh")
        .arg("-c")
        .arg(command.replacen("python3", &require(Tool::Python), 1))
        .current_dir(folder.path())
        .output()
        .expect("the shell starts");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Runs it in several ways, and compares the tokens.
fn has_the_tokens(kept: &str) {
    let tokens = &files::json(&root().join(format!("examples/mcir/{kept}/data.json")))["tokens"];
    assert_eq!(tokens.as_array().map(Vec::len), Some(6));
    for options in ["", "--threads 64 --seed 5", "--opcode-only"] {
        let found: Value = serde_json::from_str(&run(kept, options)).expect("JSON");
        assert_eq!(found, *tokens, "{options}");
    }
}

#[test]
fn a_decoder_layer_has_the_tokens_of_a_program_by_hand() {
    has_the_tokens("layer");
}

#[test]
fn a_decoder_layer_over_task_types_has_the_tokens_of_a_program_by_hand() {
    has_the_tokens("decoder");
}
