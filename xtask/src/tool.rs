//! Other programs of this workspace, built as this one was and then run like any command.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

/// What is passed on as it is, `--help` included.
#[derive(clap::Args)]
pub struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

impl Args {
    /// The arguments.
    pub fn as_slice(&self) -> &[OsString] {
        &self.arguments
    }
}

/// A program of this workspace: its package and its name.
pub type Program = (&'static str, &'static str);

/// What a spec author runs.
pub const SUITE: Program = ("megakernel-suite", "megakernel-suite");
/// The runner.
pub const CONFORM: Program = ("megakernel-conformance", "megakernel-conform");
/// The reference: worker and oracle.
pub const REFERENCE: Program = ("megakernel-oracle", "megakernel-reference");
/// The CUDA harness.
pub const CUDA: Program = ("megakernel-cuda-harness", "megakernel-cuda");

/// The environment variable that tells the runner where the corpus is.
pub const CORPUS: &str = "MEGAKERNEL_CORPUS";

/// Where this environment variable is set, programs of this workspace are those that lie beside this one, and nothing is built. A
/// build of single programs chooses other features of the crates below them than a build of the whole workspace does, and so
/// compiles nearly everything again: who has built the whole workspace, as tests and `.ci/run` have, sets it.
pub const BUILT: &str = "MEGAKERNEL_BUILT";

/// Runs a command of `megakernel-suite`, and ends as it ends.
pub fn suite(root: &Path, command: &str, args: &Args) -> ExitCode {
    // The runner has this one, and is built sooner.
    if command == "corpus" && args.arguments.first().is_some_and(|first| first == "document") {
        let done = build(root, CONFORM).and_then(|program| {
            let mut document = Command::new(&program);
            if std::env::var_os(CORPUS).is_none() {
                document.env(CORPUS, root.join("corpus"));
            }
            status(document.args(&args.arguments))
        });
        return ended(done);
    }
    let done = build(root, SUITE)
        .and_then(|program| status(Command::new(&program).arg(command).args(&args.arguments)));
    ended(done)
}

/// Runs a command to its end: its exit code, if it has one.
pub fn status(command: &mut Command) -> Result<Option<i32>, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|cause| format!("{program} cannot be started: {cause}"))?;
    Ok(status.code())
}

/// Ends as a command ended, and with 2 if it could not be run or was killed.
pub fn ended(done: Result<Option<i32>, String>) -> ExitCode {
    match done {
        Ok(code) => code.and_then(|code| u8::try_from(code).ok()).unwrap_or(2).into(),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Builds a program of this workspace, and returns its path.
pub fn build(root: &Path, program: Program) -> Result<String, String> {
    Ok(build_all(root, &[program])?.remove(0))
}

/// Builds programs of this workspace, all at once, and returns their paths. With [`BUILT`] it only looks whether they are there.
pub fn build_all(root: &Path, programs: &[Program]) -> Result<Vec<String>, String> {
    let own = std::env::current_exe().map_err(|cause| format!("the path of xtask is unknown: {cause}"))?;
    let directory = own.parent().ok_or("xtask is in no directory")?;
    if std::env::var_os(BUILT).is_none() {
        compile(root, directory, programs)?;
    }
    let path = |(_, name): &Program| {
        let binary = directory.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        if !binary.is_file() {
            return Err(format!(
                "{} is missing: run `cargo test --workspace --no-run` first, or unset {BUILT}, which says that it was run",
                binary.display()
            ));
        }
        binary.into_os_string().into_string().map_err(|path| format!("{} is not UTF-8", path.display()))
    };
    programs.iter().map(path).collect()
}

/// Has cargo build programs of this workspace in the profile that this program was built in.
fn compile(root: &Path, directory: &Path, programs: &[Program]) -> Result<(), String> {
    let profile = match directory.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--profile", profile]).current_dir(root);
    // Cargo chooses features for all packages of a command together. With the same ones each time, a crate that two programs share
    // is compiled once, not anew for every command.
    for (package, _) in [SUITE, CONFORM, REFERENCE, CUDA] {
        command.args(["--package", package]);
    }
    for (_, name) in programs {
        command.args(["--bin", name]);
    }
    let names: Vec<&str> = programs.iter().map(|(_, name)| *name).collect();
    let names = names.join(", ");
    let status =
        command.status().map_err(|cause| format!("cargo cannot be started to build {names}: {cause}"))?;
    if !status.success() {
        return Err(format!("{names} cannot be built; see above"));
    }
    Ok(())
}
