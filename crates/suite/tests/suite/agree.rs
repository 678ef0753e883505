//! `cargo xtask agree` as a person meets it.

use std::process::{Command, Output};

fn agree(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_megakernel-suite"))
        .args(["agree", "--jobs", "1", "--seed", "1"])
        .args(arguments)
        .output()
        .expect("the command starts")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_three_agree_on_programs_that_break_every_kind_of_rule() {
    let output = agree(&["--count", "2000", "--seconds", "300"]);
    let text = text(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.starts_with("2,000 programs: ") && text.contains("8,000 runs of the VM"), "{text}");
    for rule in ["D04", "R02", "R03", "R04", "R05", "R06", "P01", "M05"] {
        assert!(text.contains(&format!("{rule} ")), "no program breaks {rule}: {text}");
    }
}

#[test]
fn what_a_validator_overlooks_is_found_and_printed() {
    for rule in ["R06-in-place", "R05", "P01", "M05"] {
        let output = agree(&["--count", "100000", "--seconds", "300", "--without", rule]);
        let text = text(&output);
        assert_eq!(output.status.code(), Some(1), "{rule}: {text}");
        let (program, what) = text.split_once("seed ").expect("a program, and where it comes from");
        assert!(megakernel_ir::read(program.as_bytes()).is_ok(), "{rule}: {text}");
        assert!(
            what.contains(" and the explorer disagree\n")
                || what.contains("validator and explorer disagree\n")
        );
        assert!(what.contains("validator: ") && !what.contains(&format!(" {rule}")), "{rule}: {text}");
    }
}

#[test]
fn a_run_that_judged_nothing_is_none() {
    let output = agree(&["--seconds", "0"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert_eq!(agree(&["--without", "X01"]).status.code(), Some(2));
}
