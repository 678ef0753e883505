//! `megakernel-reference validate`: exit codes, output, and files that are no programs.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const GOOD: &str = r#"{"ir_version":"0.2.0","abi_version":"0.2","buffers":[],"counters":[],"tasks":[]}"#;

fn validate(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_megakernel-reference"))
        .arg("validate")
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("the reference starts")
}

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let files: [(&str, &[u8]); 5] = [
        ("good.json", GOOD.as_bytes()),
        ("empty.json", b""),
        ("bytes.json", &[0, 255, 254, 10, 128]),
        ("deep.json", &[b'['; 100_000]),
        ("accents.json", "[\"\u{e9}\u{e9}\", nope]".as_bytes()),
    ];
    for (name, content) in files {
        std::fs::write(directory.path().join(name), content).expect("a file");
    }
    directory
}

#[test]
fn exit_codes_tell_rejected_from_unreadable() {
    let directory = directory();
    for (files, code) in [
        (&["good.json"][..], 0),
        (&["empty.json"], 1),
        (&["bytes.json"], 1),
        (&["deep.json"], 1),
        (&["missing.json"], 2),
        (&["."], 2),
        (&["missing.json", "empty.json", "good.json"], 2),
        (&["good.json", "--profile", "speed"], 2),
        (&[], 2),
    ] {
        let output = validate(directory.path(), files);
        assert_eq!(output.status.code(), Some(code), "{files:?}");
        assert!(!output.stdout.contains(&0x1b), "colour, but no terminal");
    }
}

#[test]
fn a_file_has_a_largest_size_that_can_be_raised() {
    let directory = directory();
    for file in ["/dev/zero", "deep.json"] {
        let output = validate(directory.path(), &[file, "--max-size", "90000"]);
        assert_eq!(output.status.code(), Some(2), "{file}");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        let sentence = format!(
            "error: cannot read {file}: more than 90000 bytes, the limit for a file; --max-size raises it\n"
        );
        assert_eq!(said, sentence);
    }
    assert_eq!(validate(directory.path(), &["good.json", "--max-size", "90000"]).status.code(), Some(0));
}

#[test]
fn the_total_is_printed_for_several_files() {
    let directory = directory();
    let stdout = |files: &[&str]| String::from_utf8(validate(directory.path(), files).stdout).expect("UTF-8");
    assert_eq!(stdout(&["good.json"]), "good.json: accepted, 0 errors and 0 warnings\n");
    let text = stdout(&["good.json", "empty.json", "missing.json"]);
    assert!(text.ends_with("\n1 accepted, 1 rejected, 1 unreadable\n"), "{text}");
}

#[test]
fn places_count_from_one_and_in_characters() {
    let directory = directory();
    let output = validate(directory.path(), &["--json", "empty.json", "accents.json"]);
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    let places: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .map(|line| line.pointer("/diagnostics/0/column").cloned().expect("a column"))
        .collect();
    assert_eq!(places, [1, 9]);
}
