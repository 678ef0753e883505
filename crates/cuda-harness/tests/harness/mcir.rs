//! The program that memory-centric IR makes of a decoder layer, on these kernels, as the page `examples/mcir/README.md` runs it.

use std::process::Command;

use megakernel_test_support::tools::{Tool, require};
use megakernel_test_support::{files, root};
use serde_json::Value;

/// The command of the page, with this program for the worker, and what it prints.
fn run(options: &str) -> String {
    let page = files::text(&root().join("examples/mcir/README.md"));
    let line = page.lines().find(|line| line.contains("on_kernels.py --greatest")).expect("a command");
    let command = line.strip_prefix("$ ").expect("a command");
    let (built, worker) = ("target/debug/megakernel-cuda", env!("CARGO_BIN_EXE_megakernel-cuda"));
    assert!(command.contains(built) && command.starts_with("python3 "), "{command}");
    let cache = concat!(env!("CARGO_TARGET_TMPDIR"), "/kernels");
    let command = command.replace(built, &format!("{worker} --cache {cache} {options}"));
    require(Tool::Cxx);
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(root().join("examples"), folder.path().join("examples")).expect("a link");
    for name in ["program.json", "binding.json"] {
        let kept = root().join("examples/mcir/layer").join(name);
        std::fs::copy(kept, folder.path().join(name)).expect("a copy");
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

#[test]
fn a_decoder_layer_has_the_tokens_of_a_program_by_hand() {
    let tokens = &files::json(&root().join("examples/mcir/layer/data.json"))["tokens"];
    assert_eq!(tokens.as_array().map(Vec::len), Some(6));
    for options in ["", "--threads 64 --seed 5", "--opcode-only"] {
        let found: Value = serde_json::from_str(&run(options)).expect("JSON");
        assert_eq!(found, *tokens, "{options}");
    }
}
