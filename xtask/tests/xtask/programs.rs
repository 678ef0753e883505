//! Commands that are programs of their own: arguments, output and code go through.

use std::process::{Command, Output};

fn xtask(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output().expect("xtask starts")
}

#[test]
fn arguments_and_codes_go_through() {
    let list = xtask(&["prove", "--list"]);
    assert_eq!(list.status.code(), Some(0));
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
