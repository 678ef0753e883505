//! Commands that are programs of their own: they are built, or taken as they are; arguments, output and code go through.

use std::process::{Command, Output};

/// A command that takes the programs as `cargo test --workspace` has built them.
fn xtask(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .env("MEGAKERNEL_BUILT", "1")
        .args(arguments)
        .output()
        .expect("xtask starts")
}

#[test]
fn arguments_and_codes_go_through() {
    let list = xtask(&["prove", "--list"]);
    assert_eq!(list.status.code(), Some(0), "{}", String::from_utf8_lossy(&list.stderr));
    assert!(String::from_utf8_lossy(&list.stdout).starts_with("quick: "));
    let help = xtask(&["corpus", "generate", "--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&help.stdout).contains("Usage: cargo xtask corpus generate"));
    assert_eq!(
        xtask(&["adequacy", "--filter", "numeric/gelu/*", "--fault", "gqa-by-tile"]).status.code(),
        Some(1)
    );
    assert_eq!(xtask(&["prove", "--scope", "none"]).status.code(), Some(2));
}

/// A command that has programs built by a script in place of cargo, which writes down what it was asked for.
#[cfg(unix)]
fn with_cargo(script: &str, arguments: &[&str]) -> (Output, String) {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().expect("a folder");
    let cargo = folder.path().join("cargo");
    std::fs::write(&cargo, format!("#!/bin/sh\necho \"$@\" >> \"$0.asked\"\n{script}\n")).expect("a file");
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .env_remove("MEGAKERNEL_BUILT")
        .env("CARGO", &cargo)
        .args(arguments)
        .output()
        .expect("xtask starts");
    (output, std::fs::read_to_string(folder.path().join("cargo.asked")).unwrap_or_default())
}

/// With the features of all programs, whichever of them is built.
#[cfg(unix)]
const COMMAND: &str = "build --quiet --profile dev --package megakernel-suite --package megakernel-conformance \
                       --package megakernel-oracle --package megakernel-cuda-harness";

#[cfg(unix)]
#[test]
fn programs_are_built_before_they_are_called() {
    let (output, asked) = with_cargo("exit 0", &["prove", "--list"]);
    assert_eq!(asked, format!("{COMMAND} --bin megakernel-suite\n"));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));

    let (output, asked) = with_cargo("exit 101", &["conform", "--help"]);
    assert_eq!(asked, format!("{COMMAND} --bin megakernel-conform\n"));
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("megakernel-conform cannot be built; see above"), "{said}");
}
