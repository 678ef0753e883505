//! `cargo xtask ci`: every check of the repository, the quick ones first.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Run every check of the repository: format, lints, tests, tidy, corpus, conformance, soundness
#[derive(clap::Args)]
pub struct Args {
    /// Leave out `cargo test`, for a caller that runs it next
    #[arg(long)]
    no_tests: bool,
}

/// A step: a name and a command, which runs at the root of the repository.
struct Step {
    name: &'static str,
    command: &'static [&'static str],
}

/// Steps that play or claim a part of a profile, and have to end with exactly that: conforms in part (clause CON-08).
const IN_PART: [&str; 1] = ["the kernels under sanitizers conform in part"];

/// The exit code of a run that conforms in part.
const IN_PART_CODE: i32 = 3;

/// `cargo xtask` as a step says it: this program itself.
pub const SELF: &str = "xtask";

/// How the steps call Python. The environment variable of this name, in capitals, may say another command.
const PYTHON: &str = "python3";

/// The name of the step that runs the tests.
const TESTS: &str = "tests";

const STEPS: [Step; 15] = [
    Step { name: "format", command: &["cargo", "fmt", "--all", "--check"] },
    Step { name: "tidy", command: &[SELF, "tidy"] },
    Step {
        name: "lints",
        command: &["cargo", "clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"],
    },
    Step { name: "documentation", command: &["cargo", "doc", "--quiet", "--workspace", "--no-deps"] },
    Step { name: "corpus", command: &[SELF, "corpus", "check"] },
    Step { name: "the reference conforms", command: &[SELF, "conform"] },
    Step {
        name: "the selector in Python conforms",
        command: &[SELF, "conform", "--impl", "python3 examples/selection/adapter.py"],
    },
    Step {
        name: "the kernels conform on the CPU",
        command: &[SELF, "conform", "--impl", "cuda --trace", "--profile", "execute", "--timeout", "60"],
    },
    // Without the cases of many launches: every kernel and every wait is in the others.
    Step {
        name: "the kernels under sanitizers conform in part",
        command: &[
            SELF,
            "conform",
            "--impl",
            "cuda --sanitize address,undefined --limit 60",
            "--profile",
            "execute",
            "--filter",
            "{numeric,execution/order,execution/blocks,execution/decode}/*",
            "--timeout",
            "120",
        ],
    },
    Step { name: "adequacy", command: &[SELF, "adequacy", "--check"] },
    // What is small, and what is mixed. The scopes on record take minutes: the release gate runs them, and whoever changes a rule.
    Step { name: "soundness", command: &[SELF, "prove", "--scope", "quick"] },
    Step { name: "soundness at random", command: &[SELF, "agree", "--count", "100000"] },
    Step { name: "soundness of task graphs", command: &[SELF, "prove", "--scope", "task-graph-quick"] },
    Step { name: "soundness of selection", command: &[SELF, "prove", "--scope", "selection-ci", "--check"] },
    Step { name: TESTS, command: &["cargo", "test", "--workspace"] },
];

/// The command: 0 when every step passed, 1 otherwise.
pub fn run(root: &Path, args: &Args) -> ExitCode {
    let mut failed = Vec::new();
    let steps = STEPS.iter().filter(|step| !(args.no_tests && step.name == TESTS));
    // A failed step does not hide what the next ones find.
    for step in steps.clone() {
        println!("\n== {}: {}", step.name, step.command.join(" "));
        let start = Instant::now();
        let required = if IN_PART.contains(&step.name) { IN_PART_CODE } else { 0 };
        let passed = exit_code(root, step.command) == Some(required);
        println!("== {}: {} in {:.0?}", step.name, if passed { "ok" } else { "FAILED" }, start.elapsed());
        if !passed {
            failed.push(step.name);
        }
    }
    if failed.is_empty() {
        println!("\nci: all {} steps passed", steps.count());
        return ExitCode::SUCCESS;
    }
    println!("\nci: failed: {}", failed.join(", "));
    ExitCode::FAILURE
}

/// Runs a command, and says whether it ended well.
pub fn execute(root: &Path, command: &[&str]) -> bool {
    exit_code(root, command) == Some(0)
}

/// Runs a command and gives its exit code, if it came to one.
fn exit_code(root: &Path, command: &[&str]) -> Option<i32> {
    let (program, arguments) = command.split_first()?;
    let program = match *program {
        SELF => std::env::current_exe().map(Into::into).ok(),
        "cargo" => Some(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())),
        other => Some(other.into()),
    };
    let Some(program) = program else {
        eprintln!("error: the path of xtask is unknown");
        return None;
    };
    // The lints of the documentation are warnings, and a warning fails as it does in the step before.
    let status = Command::new(program)
        .args(arguments.iter().map(|argument| with_python(argument, std::env::var("PYTHON").ok().as_deref())))
        .env("RUSTDOCFLAGS", "--deny warnings")
        .current_dir(root)
        .status();
    status.map_err(|e| eprintln!("error: {} cannot be run: {e}", command.join(" "))).ok()?.code()
}

/// The argument, with the Python that the caller wants: one with numpy, say.
fn with_python(argument: &str, python: Option<&str>) -> String {
    match (argument.strip_prefix(PYTHON), python.and_then(|path| shlex::try_quote(path).ok())) {
        (Some(rest), Some(python)) => format!("{python}{rest}"),
        _ => argument.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_chooses_the_python() {
        assert_eq!(with_python("python3 adapter.py", None), "python3 adapter.py");
        assert_eq!(with_python("python3 adapter.py", Some("/a b/python")), "'/a b/python' adapter.py");
        assert_eq!(with_python("--impl", Some("/python")), "--impl");
    }

    #[test]
    fn what_conforms_in_part_is_a_step() {
        for name in IN_PART {
            assert!(STEPS.iter().any(|step| step.name == name), "{name}");
        }
    }

    #[test]
    fn a_step_that_fails_or_does_not_exist_is_noticed() {
        let here = Path::new(".");
        assert!(execute(here, &["cargo", "--version"]));
        assert!(!execute(here, &["cargo", "no-such-command"]));
        assert!(!execute(here, &["no-such-program-at-all"]));
        assert!(!execute(here, &[]));
    }
}
