//! What people see of `cargo xtask`: `snapshots/*.trycmd` hold command lines and what they print. CONTRIBUTING.md says how a
//! change is written down.
//!
//! The commands find a repository of a few files, each of which has a fault. What conform, corpus, adequacy, agree and prove print is
//! that of the programs that they call.

use std::path::Path;
use std::process::Command;

/// Path and text, `@` in place of what `tidy` would find in this file.
const FILES: [(&str, &str); 6] = [
    ("Cargo.toml", "[workspace]\nmembers = [\"new\"]\nresolver = \"3\"\n"),
    ("README.md", "See [the rules](spec/rules.md) and [below](#below).\n"),
    ("new/Cargo.toml", "[package]\nname = \"new\"\nversion = \"0.0.0\"\nedition = \"2024\"\n"),
    ("new/src/lib.rs", "mod one;\n\nfn later() {\n    to@do!()\n}\n\nfn minutes@_of_it() {}\n"),
    ("new/src/one.rs", "mod deep;\n"),
    ("new/src/one/deep.rs", "const BESIDE: &str = \"..@/..@/..@/elsewhere\";\n"),
];

#[test]
fn the_commands_print_what_is_written_down() {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in FILES {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text.replace('@', "")).expect("a file");
    }
    let git = Command::new("git").args(["init", "--quiet"]).arg(folder.path()).status().expect("git starts");
    assert!(git.success());
    trycmd::TestCases::new()
        .register_bin("xtask", Path::new(env!("CARGO_BIN_EXE_xtask")))
        // From which xtask knows the root of the repository.
        .env("CARGO_MANIFEST_DIR", folder.path().join("xtask").to_str().expect("UTF-8"))
        .insert_var("[ROOT]", folder.path().to_str().expect("UTF-8").to_owned())
        .expect("a name of a variable")
        .case(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/*.trycmd"))
        .run();
}
