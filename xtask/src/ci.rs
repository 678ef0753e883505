//! `cargo xtask ci`: every check of the repository but the long ones, which the release gate runs.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Run the checks of the repository: format, lints, tests, tidy, corpus, conformance, soundness; not the long ones of release-gate
#[derive(clap::Args)]
pub struct Args {
    /// Leave out `cargo test`, for a caller that runs it itself
    #[arg(long)]
    no_tests: bool,
    /// Leave out lints, for a caller that has built everything with Clippy
    #[arg(long)]
    no_lints: bool,
}

/// A step: a name and a command, which runs at the root of the repository.
struct Step {
    name: &'static str,
    command: &'static [&'static str],
    /// The part of the cases that is played here: the release gate plays the whole.
    part: Option<&'static str>,
}

const fn step(name: &'static str, command: &'static [&'static str]) -> Step {
    Step { name, command, part: None }
}

/// A step of which one case in so many is played here, where the whole takes long: families vary dtypes, shapes and modes by twos,
/// threes and fives, which divide no such number.
const fn part(name: &'static str, command: &'static [&'static str], part: &'static str) -> Step {
    Step { name, command, part: Some(part) }
}

/// `cargo xtask` as a step says it: this program itself.
pub const SELF: &str = "xtask";

/// How the steps call Python. The environment variable of this name, in capitals, may say another command.
const PYTHON: &str = "python3";

/// The names of the steps that a caller may leave out.
const TESTS: &str = "tests";
const LINTS: &str = "lints";
/// The name of the step that the release gate plays with every certificate.
pub const CORPUS: &str = "corpus";
/// The exit code of a run that plays a part of a profile and finds nothing wrong: conforms in part (clause CON-08).
pub const IN_PART: i32 = 3;

/// Of the kernels, `evidence/host.json` records the whole, and `cargo xtask tidy` says when that record is of other kernels or cases.
const STEPS: [Step; 14] = [
    step("format", &["cargo", "fmt", "--all", "--check"]),
    step("tidy", &[SELF, "tidy"]),
    step(LINTS, &["cargo", "clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"]),
    step(CORPUS, &[SELF, "corpus", "check", "--sample", "--jobs", "3"]),
    // What is not executed, the tests ask of the reference case by case.
    part("the reference conforms", &[SELF, "conform"], "1/7"),
    part(
        "the selector in Python conforms",
        &[SELF, "conform", "--impl", "python3 examples/selection/adapter.py", "--profile", "selection"],
        "1/23",
    ),
    part(
        "the checker of collectives in Python conforms",
        &[SELF, "conform", "--impl", "python3 examples/collectives/adapter.py", "--profile", "collectives"],
        "1/23",
    ),
    part(
        "the validator of memory-centric IR in Python conforms",
        &[SELF, "conform", "--impl", "python3 examples/mcir/adapter.py", "--profile", "mcir"],
        "1/23",
    ),
    part(
        "the validator of schedules in Python conforms",
        &[SELF, "conform", "--impl", "python3 examples/schedule/adapter.py", "--profile", "schedule"],
        "1/23",
    ),
    part(
        "the kernels conform on the CPU",
        // The largest launches take four seconds, and minutes where all else goes first.
        &[SELF, "conform", "--impl", "cuda --trace --limit 250", "--profile", "execute", "--timeout", "300"],
        "1/97",
    ),
    // What is small, and what is mixed. The scopes on record take minutes, as `adequacy --check` does: the release gate runs them,
    // and whoever changes a rule. It also plays the kernels under sanitizers and makes the documentation, a minute and a half each.
    step("soundness", &[SELF, "prove", "--scope", "quick"]),
    step("soundness at random", &[SELF, "agree", "--count", "30000"]),
    step("soundness of task graphs", &[SELF, "prove", "--scope", "task-graph-quick"]),
    step(TESTS, &["cargo", "test", "--workspace"]),
];

/// The steps: a name and a command, which succeeds with 0.
pub fn steps() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    STEPS.iter().map(|step| (step.name, step.command))
}

/// How many steps run at once: most of them use one processor for part of their time.
const AT_ONCE: usize = 2;

/// The command: 0 when every step passed, 1 otherwise.
pub fn run(root: &Path, args: &Args) -> ExitCode {
    let left_out = |step: &Step| args.no_tests && step.name == TESTS || args.no_lints && step.name == LINTS;
    let steps: Vec<&Step> = STEPS.iter().filter(|step| !left_out(step)).collect();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    // A failed step does not hide what the next ones find.
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(step) = steps.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if !step.passes(root) {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).push(step.name);
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if failed.is_empty() {
        println!("\nci: all {} steps passed", steps.len());
        return ExitCode::SUCCESS;
    }
    failed.sort_by_key(|name| steps.iter().position(|step| step.name == *name));
    println!("\nci: failed: {}", failed.join(", "));
    ExitCode::FAILURE
}

impl Step {
    /// Runs the command, and then prints what it wrote and how it ended: others run beside it.
    fn passes(&self, root: &Path) -> bool {
        println!("-- {} begins", self.name);
        let start = Instant::now();
        let (command, wanted) = match self.part {
            Some(part) => ([self.command, &["--shard", part]].concat(), IN_PART),
            None => (self.command.to_vec(), 0),
        };
        let (code, said) = output(root, &command);
        // The same exit code says that cases were skipped.
        let is_whole = wanted == 0 || said.contains(" passed, 0 failed, 0 skipped");
        let passed = code == Some(wanted) && is_whole;
        let (name, how) = (self.name, if passed { "ok" } else { "FAILED" });
        let shown = said.trim_end();
        let end = if shown.is_empty() { "" } else { "\n" };
        let command = command.join(" ");
        println!("\n== {name}: {command}\n{shown}{end}== {name}: {how} in {:.0?}", start.elapsed());
        passed
    }
}

/// Runs a command, and gives its exit code, if it came to one, and what it wrote to its two outputs.
fn output(root: &Path, command: &[&str]) -> (Option<i32>, String) {
    let ended = process(root, command).and_then(|mut process| {
        let (mut reader, writer) = std::io::pipe()?;
        let mut child = process.stdout(writer.try_clone()?).stderr(writer).spawn()?;
        // The command's own ends of the pipe would keep it open.
        drop(process);
        let mut said = Vec::new();
        reader.read_to_end(&mut said)?;
        Ok((child.wait()?.code(), String::from_utf8_lossy(&said).into_owned()))
    });
    ended.unwrap_or_else(|e| (None, format!("{} cannot be run: {e}", command.join(" "))))
}

/// Runs a command and gives its exit code, if it came to one. Tests that go through a part of a long list go through all of it.
pub fn exit_code(root: &Path, command: &[&str]) -> Option<i32> {
    let status =
        process(root, command).and_then(|mut process| process.env("MEGAKERNEL_TESTS", "whole").status());
    status.map_err(|e| eprintln!("error: {} cannot be run: {e}", command.join(" "))).ok()?.code()
}

/// A command as a step says it, at the root of the repository.
fn process(root: &Path, command: &[&str]) -> std::io::Result<Command> {
    let (program, arguments) = command.split_first().ok_or(ErrorKind::InvalidInput)?;
    let program = match *program {
        SELF => std::env::current_exe()?.into(),
        "cargo" => std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        PYTHON => std::env::var_os("PYTHON").unwrap_or_else(|| PYTHON.into()),
        other => other.into(),
    };
    let mut process = Command::new(program);
    // The lints of the documentation are warnings: one fails here, as Clippy's do.
    process
        .args(arguments.iter().map(|argument| with_python(argument, std::env::var("PYTHON").ok().as_deref())))
        .env("RUSTDOCFLAGS", "--deny warnings")
        .current_dir(root);
    Ok(process)
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
    fn tests_of_the_gate_are_whole() {
        let asked = ["sh", "-c", r#"test "$MEGAKERNEL_TESTS" = whole"#];
        assert_eq!(exit_code(Path::new("."), &asked), Some(0));
    }

    #[test]
    fn the_caller_chooses_the_python() {
        assert_eq!(with_python("python3 adapter.py", None), "python3 adapter.py");
        assert_eq!(with_python("python3 adapter.py", Some("/a b/python")), "'/a b/python' adapter.py");
        assert_eq!(with_python("--impl", Some("/python")), "--impl");
    }

    #[test]
    fn a_step_that_fails_or_does_not_exist_is_noticed() {
        let here = Path::new(".");
        assert_eq!(exit_code(here, &["cargo", "--version"]), Some(0));
        assert!(exit_code(here, &["cargo", "no-such-command"]).is_some_and(|code| code != 0));
        assert_eq!(exit_code(here, &["no-such-program-at-all"]), None);
        assert_eq!(exit_code(here, &[]), None);
    }

    #[test]
    fn a_step_says_what_its_command_wrote() {
        let here = Path::new(".");
        let (code, said) = output(here, &["sh", "-c", "echo one; echo two >&2; exit 3"]);
        assert_eq!((code, said.as_str()), (Some(3), "one\ntwo\n"));
        let (code, said) = output(here, &["no-such-program-at-all"]);
        assert!(code.is_none() && said.contains("no-such-program-at-all cannot be run"), "{said}");
    }
}
