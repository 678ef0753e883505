//! `cargo xtask conform`: builds the runner, the reference and perhaps the CUDA harness, and calls `megakernel-conform run`, whose
//! options these are.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::print;
use crate::tool::{self, CONFORM};

/// The name in `--impl` that stands for the CUDA harness of this repository.
const CUDA: &str = "cuda";

/// What the help says besides.
const EXAMPLES: &str = "
In this repository, `cuda` with options stands for the CUDA harness in --impl:
  cargo xtask conform --impl 'cuda --trace' --profile execute
      judge the CUDA kernels of this repository; crates/cuda-harness/README.md has their options
  cargo xtask conform --impl 'cuda --device cuda --trace' --profile execute --evidence h100.json
      the same on a GPU, with a record of it for evidence/
";

/// Runs the command, and ends as the runner ends.
pub fn run(root: &Path, args: &tool::Args) -> ExitCode {
    tool::ended(conform(root, args.as_slice()))
}

fn conform(root: &Path, arguments: &[OsString]) -> Result<Option<i32>, String> {
    let is = |wanted: &[&str]| arguments.iter().any(|argument| wanted.iter().any(|one| argument == *one));
    if is(&["--help", "-h"]) {
        return help(root, arguments).map(|()| Some(0));
    }
    let Taken { implementation, rest } = take_implementation(arguments);
    let cuda = implementation.as_deref().and_then(OsStr::to_str).and_then(options_of_cuda);
    let mut wanted = vec![CONFORM];
    if !is(&["--list"]) {
        // The oracle of traces, if it is not the worker.
        wanted.push(tool::REFERENCE);
        wanted.extend(cuda.as_ref().map(|_| tool::CUDA));
    }
    let programs = tool::build_all(root, &wanted)?;
    let mut command = Command::new(&programs[0]);
    command.arg("run");
    let mut called = "cargo xtask conform".to_owned();
    if let Some(given) = &implementation {
        let line = match (&cuda, programs.get(2)) {
            (Some(options), Some(harness)) => {
                prepare(harness, options)?;
                let words = std::iter::once(harness.as_str()).chain(options.iter().map(String::as_str));
                shlex::try_join(words).map_err(|cause| cause.to_string())?.into()
            }
            _ => given.clone(),
        };
        command.arg("--impl").arg(line);
        let given =
            shlex::try_quote(&given.to_string_lossy()).map_err(|cause| cause.to_string())?.into_owned();
        called += &format!(" --impl {given}");
    }
    command.arg("--rerun").arg(called).args(rest);
    if std::env::var_os(tool::CORPUS).is_none() {
        command.env(tool::CORPUS, root.join("corpus"));
    }
    // In place of this program, so that a signal reaches the runner, which has workers to end and a report to write.
    #[cfg(unix)]
    return Err(format!(
        "{} cannot be started: {}",
        programs[0],
        std::os::unix::process::CommandExt::exec(&mut command)
    ));
    #[cfg(not(unix))]
    tool::status(&mut command)
}

/// The help of the runner, with this command in place of it.
fn help(root: &Path, arguments: &[OsString]) -> Result<(), String> {
    let programs = tool::build_all(root, &[CONFORM])?;
    let output = Command::new(&programs[0])
        .arg("run")
        .args(arguments)
        .output()
        .map_err(|cause| format!("{} cannot be started: {cause}", programs[0]))?;
    let text =
        String::from_utf8_lossy(&output.stdout).replace("megakernel-conform run", "cargo xtask conform");
    print(&(text + EXAMPLES))
}

struct Taken {
    /// The value of `--impl`.
    implementation: Option<OsString>,
    /// The other arguments.
    rest: Vec<OsString>,
}

fn take_implementation(arguments: &[OsString]) -> Taken {
    let mut taken = Taken { implementation: None, rest: Vec::new() };
    let mut open = arguments.iter();
    while let Some(argument) = open.next() {
        let joined = argument.to_str().and_then(|argument| argument.strip_prefix("--impl="));
        match (joined, argument == "--impl") {
            (Some(value), _) => taken.implementation = Some(value.into()),
            // Without a value the runner says what is missing.
            (None, true) => match open.next() {
                Some(value) => taken.implementation = Some(value.clone()),
                None => taken.rest.push(argument.clone()),
            },
            (None, false) => taken.rest.push(argument.clone()),
        }
    }
    taken
}

/// The options of the CUDA harness, if a command names it.
fn options_of_cuda(line: &str) -> Option<Vec<String>> {
    let mut words = shlex::split(line)?;
    let named = words.first().is_some_and(|name| name == CUDA);
    named.then(|| words.split_off(1))
}

/// Has the CUDA harness compile its kernels, which no time limit of an answer would allow for.
fn prepare(harness: &str, options: &[String]) -> Result<(), String> {
    let status = Command::new(harness)
        .args(options)
        .arg("--prepare")
        .status()
        .map_err(|cause| format!("the CUDA harness cannot be started: {cause}"))?;
    if status.success() { Ok(()) } else { Err("the CUDA harness cannot be used; see above".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worker_is_taken_out_of_the_arguments() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        for arguments in
            [&["--impl", "cuda --trace", "--jobs", "2"][..], &["--jobs", "2", "--impl=cuda --trace"]]
        {
            let Taken { implementation, rest } = take_implementation(&words(arguments));
            assert_eq!(implementation, Some("cuda --trace".into()));
            assert_eq!(rest, words(&["--jobs", "2"]));
        }
        assert_eq!(take_implementation(&words(&["--impl"])).rest, words(&["--impl"]));
        assert_eq!(
            options_of_cuda("cuda --trace --cxx 'c++ -g'"),
            Some(vec!["--trace".into(), "--cxx".into(), "c++ -g".into()])
        );
        assert_eq!(options_of_cuda("./cuda"), None);
    }
}
