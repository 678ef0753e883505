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

/// Runs a command of `megakernel-suite`, and ends as it ends.
pub fn suite(root: &Path, command: &str, args: &Args) -> ExitCode {
    let done = build(root, "megakernel-suite", "megakernel-suite").and_then(|program| {
        let status = Command::new(&program).arg(command).args(&args.arguments).status();
        status.map_err(|cause| format!("{program} cannot be started: {cause}"))
    });
    match done {
        // A program that was killed has no code of its own.
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2).into(),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Builds a program of this workspace, and returns its path.
pub fn build(root: &Path, package: &str, name: &str) -> Result<String, String> {
    let own = std::env::current_exe().map_err(|cause| format!("the path of xtask is unknown: {cause}"))?;
    let directory = own.parent().ok_or("xtask is in no directory")?;
    let profile = match directory.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--package", package, "--bin", name])
        .args(["--profile", profile])
        .current_dir(root)
        .status()
        .map_err(|cause| format!("cargo cannot be started to build {name}: {cause}"))?;
    if !status.success() {
        return Err(format!("{name} does not build; see above"));
    }
    let binary = directory.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    binary.into_os_string().into_string().map_err(|path| format!("{} is not UTF-8", path.display()))
}
